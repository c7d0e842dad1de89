"""A real PgBouncer in front of a Postgres, in transaction mode, for tests."""

import re
import subprocess
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

from tools import debian
from tools.debian_daemon import Daemon

_PREPARES_SINCE = (1, 21)
"""The first version that supports prepared statements of clients. Here they are disabled."""


class PgBouncer(Daemon):
    """A running pooler for the server of `server_url`. A context manager.

    Each database gets `pool_size` connections. A client has one for one transaction at a time.
    """

    def __init__(self, server_url: str, *, pool_size: int = 4) -> None:
        """Start it on a free port of 127.0.0.1. ToolMissing."""
        super().__init__(find())
        self._start(_settings(server_url, self.port, pool_size, version(self._program)))

    def url_of(self, database_url: str) -> str:
        """Return the URL of a database through the pooler."""
        place = f"postgres@127.0.0.1:{self.port}"
        return urlunsplit(urlsplit(database_url)._replace(netloc=place))


def find() -> Path:
    """Return this machine's PgBouncer, else that of the Debian package. ToolMissing."""
    return debian.executable("PgBouncer", "pgbouncer")


def version(program: Path) -> tuple[int, ...]:
    """Return the version of a PgBouncer."""
    command = [str(program), "--version"]
    said = subprocess.run(
        command, env=debian.environ(program), capture_output=True, text=True, check=True
    )
    number = re.search(r"[0-9]+(\.[0-9]+)+", said.stdout)
    return tuple(int(part) for part in number[0].split(".")) if number else ()


def _settings(server_url: str, port: int, pool_size: int, version: tuple[int, ...]) -> str:
    server = urlsplit(server_url)
    place = f"host={server.hostname} port={server.port or 5432} user={server.username}"
    if server.password:
        place += f" password={unquote(server.password)}"
    lines = [
        "[databases]",
        f"* = {place}",
        "[pgbouncer]",
        "pool_mode = transaction",
        "listen_addr = 127.0.0.1",
        f"listen_port = {port}",
        "unix_socket_dir =",
        # Every client is accepted, as the user above.
        "auth_type = any",
        "max_client_conn = 500",
        f"default_pool_size = {pool_size}",
    ]
    if version >= _PREPARES_SINCE:
        lines.append("max_prepared_statements = 0")
    return "\n".join([*lines, ""])
