"""A Postgres with a hot standby under Patroni, on this machine, from Debian's packages."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import urllib3

from tools import START_SECONDS, Running, ToolMissing, patroni_settings
from tools.patroni_settings import SCOPE, Host, Timing
from tools.postgres import UNPRIVILEGED_USER
from tools.stack import free_port

_PROGRAMS = (patroni_settings.PATRONI, patroni_settings.ETCD, patroni_settings.POSTGRES / "initdb")
_PACKAGES = "patroni python3-etcd etcd-server postgresql-15"
_DATABASE = "ticketing"


class Cluster(Running):
    """Hosts `a` and `b` with Postgres, Patroni and etcd, and host `c` with etcd. A context manager.

    With `synchronous`, a commit waits until the standby has it on its disk.
    """

    def __init__(self, timing: Timing, *, synchronous: bool) -> None:
        """Start everything, and wait for the standby. ToolMissing, RuntimeError."""
        if not all(program.exists() for program in _PROGRAMS):
            raise ToolMissing(f"programs are missing: run 'apt-get install {_PACKAGES}'.")
        self._timing, self._synchronous = timing, synchronous
        self._user = UNPRIVILEGED_USER if os.geteuid() == 0 else None
        self._folder = Path(tempfile.mkdtemp(prefix="ticketing-patroni-"))
        self._folder.chmod(0o755)
        self._http = urllib3.PoolManager(retries=False, timeout=5)
        self._processes: dict[str, list[subprocess.Popen[bytes]]] = {}
        self._hosts = {name: self._host(name, has_data=name != "c") for name in "abc"}
        places = ",".join(
            f"127.0.0.1:{host.postgres}" for host in self._hosts.values() if host.postgres
        )
        finds_primary = "?target_session_attrs=read-write"
        self._maintenance_url = f"postgresql://postgres@{places}/postgres{finds_primary}"
        self.url = f"postgresql://postgres@{places}/{_DATABASE}{finds_primary}"
        try:
            for name in ("c", "a", "b"):
                self.start(name)
            self.wait_for_standby()
            with psycopg.connect(self._maintenance_url, autocommit=True) as database:
                database.execute(f"CREATE DATABASE {_DATABASE}".encode())
        except BaseException:
            self.stop()
            raise

    @property
    def primary(self) -> str:
        """The name of the host with the primary."""
        return next(name for name, role in self._roles().items() if role == "leader")

    @property
    def standby(self) -> str:
        """The name of the other host with Postgres."""
        return "b" if self.primary == "a" else "a"

    def start(self, name: str) -> None:
        """Start a host's etcd and Patroni, which starts Postgres."""
        host, hosts = self._hosts[name], self._hosts.values()
        self._processes[name] = [self._run(host, patroni_settings.etcd(host, hosts))]
        if host.postgres:
            settings = patroni_settings.patroni(
                host, hosts, self._timing, synchronous=self._synchronous
            )
            host.settings.write_text(json.dumps(settings))  # JSON is YAML
            command = [str(patroni_settings.PATRONI), str(host.settings)]
            self._processes[name].append(self._run(host, command))

    def kill(self, name: str) -> None:
        """Kill all processes of a host at once (SIGKILL)."""
        host = self._hosts[name]
        processes = self._processes.pop(name)
        for pid in (*_working_in(host.data), *(process.pid for process in processes)):
            _signal(pid, signal.SIGKILL)
        for process in processes:
            _signal(process.pid, signal.SIGKILL, group=True)
            process.wait()
        _until(lambda: not _working_in(host.data), 10)

    def stall_replication(self) -> None:
        """Stop the primary's sender of WAL, as a network that loses packets does."""
        with psycopg.connect(self.url) as database:
            for (pid,) in database.execute("SELECT pid FROM pg_stat_replication").fetchall():
                _signal(pid, signal.SIGSTOP)

    def switch_over(self) -> None:
        """Make the standby the primary as planned (patronictl). RuntimeError."""
        command = [str(patroni_settings.PATRONICTL), "-c", str(self._hosts["a"].settings)]
        command += ["switchover", SCOPE, "--force"]
        command += ["--master", self.primary, "--candidate", self.standby]
        done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
        if "Successfully switched over" not in done.stdout:
            raise RuntimeError(f"patronictl: {done.stdout[-500:]} {done.stderr[-500:]}")

    def wait_for_standby(self) -> float:
        """Wait until the standby may take over. Return the seconds. RuntimeError."""
        began = time.monotonic()
        role = "sync_standby" if self._synchronous else "replica"
        if not _until(lambda: role in self._roles().values() and self._streams(), START_SECONDS):
            logs = "\n".join(host.log.read_text()[-1000:] for host in self._hosts.values())
            raise RuntimeError(f"the standby does not stream:\n{logs}")
        return time.monotonic() - began

    def said(self, name: str) -> str:
        """Return the output of a host's processes so far."""
        return self._hosts[name].log.read_text(errors="replace")

    def stop(self) -> None:
        """Kill everything, and remove the data."""
        for name in list(self._processes):
            self.kill(name)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _roles(self) -> dict[str, str]:
        """Return the role of each host that Patroni knows. Empty if no Patroni answers."""
        for host in self._hosts.values():
            if host.postgres and host.name in self._processes:
                try:
                    found: Any = self._http.request("GET", f"http://127.0.0.1:{host.api}/cluster")
                    members = found.json()["members"]
                except (urllib3.exceptions.HTTPError, ValueError, KeyError):
                    continue
                return {each["name"]: each["role"] for each in members}
        return {}

    def _streams(self) -> bool:
        query = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'"
        try:
            with psycopg.connect(self._maintenance_url) as database:
                return database.execute(query).fetchone() == (1,)
        except psycopg.OperationalError:
            return False

    def _host(self, name: str, *, has_data: bool) -> Host:
        folder = self._folder / name
        folder.mkdir()
        if self._user:
            shutil.chown(folder, self._user)
        ports = [free_port() for _ in range(4)]
        client, peer, api = ports[:3]
        return Host(name, folder, client, peer, api, ports[3] if has_data else None)

    def _run(self, host: Host, command: Sequence[str]) -> subprocess.Popen[bytes]:
        with host.log.open("ab") as output:
            return subprocess.Popen(
                command,
                user=self._user,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )


def _working_in(folder: Path) -> list[int]:
    """Return the processes whose working directory is `folder`: those of its Postgres."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink() == folder:
                found.append(int(process.name))
        except OSError:
            continue
    return found


def _signal(pid: int, number: signal.Signals, *, group: bool = False) -> None:
    with suppress(ProcessLookupError):
        (os.killpg if group else os.kill)(pid, number)


def _until(is_done: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not is_done():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True
