"""The configuration of etcd and Patroni for `tools/patroni.py`."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ETCD = Path("/usr/bin/etcd")
PATRONI, PATRONICTL = Path("/usr/bin/patroni"), Path("/usr/bin/patronictl")
POSTGRES = Path("/usr/lib/postgresql/15/bin")
SCOPE = "ticketing"
_TRUST = ["host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"]


@dataclass(frozen=True)
class Timing:
    """Patroni's timing, in seconds. `ttl` must be `loop_wait` + 2 * `retry_timeout` or more."""

    ttl: int
    loop_wait: int
    retry_timeout: int


@dataclass(frozen=True)
class Host:
    """The ports and the folder of one host. `postgres` is None if it has only etcd."""

    name: str
    folder: Path
    client: int
    peer: int
    api: int
    postgres: int | None

    @property
    def data(self) -> Path:
        """The folder of its Postgres."""
        return self.folder / "data"

    @property
    def log(self) -> Path:
        """The output of its processes."""
        return self.folder / "log"

    @property
    def settings(self) -> Path:
        """The configuration file of its Patroni."""
        return self.folder / "patroni.yml"


def etcd(host: Host, hosts: Iterable[Host]) -> list[str]:
    """Return the command of a host's member of etcd."""
    members = (f"{each.name}=http://127.0.0.1:{each.peer}" for each in hosts)
    client, peer = f"http://127.0.0.1:{host.client}", f"http://127.0.0.1:{host.peer}"
    return [
        str(ETCD),
        f"--name={host.name}",
        f"--data-dir={host.folder / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster={','.join(members)}",
        "--logger=zap",
        "--log-level=error",
    ]


def patroni(
    host: Host, hosts: Iterable[Host], timing: Timing, *, synchronous: bool
) -> dict[str, Any]:
    """Return the configuration of a host's Patroni."""
    api, place = f"127.0.0.1:{host.api}", f"127.0.0.1:{host.postgres}"
    return {
        "scope": SCOPE,
        "name": host.name,
        "restapi": {"listen": api, "connect_address": api},
        "etcd3": {"hosts": [f"127.0.0.1:{each.client}" for each in hosts]},
        "bootstrap": {
            "dcs": {
                **asdict(timing),
                "synchronous_mode": synchronous,
                "postgresql": {"use_pg_rewind": True},
            },
            "initdb": [{"encoding": "UTF8"}, {"locale": "C"}, "data-checksums"],
        },
        "postgresql": {
            "listen": place,
            "connect_address": place,
            "bin_dir": str(POSTGRES),
            "data_dir": str(host.data),
            "pgpass": str(host.folder / "pgpass"),
            "authentication": {
                "superuser": {"username": "postgres"},
                "replication": {"username": "replicator"},
            },
            "parameters": {"unix_socket_directories": str(host.folder)},
            "pg_hba": _TRUST,
        },
    }
