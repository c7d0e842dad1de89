"""A real PgBouncer in front of a Postgres, in transaction mode, for tests."""

import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

from tools import Running, debian
from tools.postgres import UNPRIVILEGED_USER, readable
from tools.stack import free_port

START_SECONDS = 30
_PREPARES_SINCE = (1, 21)
"""The first version that supports prepared statements of clients. Here they are disabled."""


class PgBouncer(Running):
    """A running pooler for the server of `server_url`. A context manager.

    Each database gets `pool_size` connections. A client has one for one transaction at a time.
    """

    def __init__(self, server_url: str, *, pool_size: int = 4) -> None:
        """Start it on a free port of 127.0.0.1. ToolMissing."""
        program = find()
        self._folder = Path(tempfile.mkdtemp(prefix="ticketing-pgbouncer-"))
        self._folder.chmod(0o755)
        # PgBouncer does not run as root.
        user = UNPRIVILEGED_USER if os.geteuid() == 0 else None
        if user:
            program = readable(program.parent, self._folder) / program.name
        self.port = free_port()
        settings = self._folder / "pgbouncer.ini"
        settings.write_text(_settings(server_url, self.port, pool_size, version(program)))
        settings.chmod(0o644)
        self._log = self._folder / "log"
        with self._log.open("w") as output:
            self._process = subprocess.Popen(
                [program, settings],
                user=user,
                cwd="/",
                env=debian.environ(program),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._wait()

    def url_of(self, database_url: str) -> str:
        """Return the URL of a database through the pooler."""
        place = f"postgres@127.0.0.1:{self.port}"
        return urlunsplit(urlsplit(database_url)._replace(netloc=place))

    def stop(self) -> None:
        """Stop it at once: it has no data."""
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _wait(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while self._process.poll() is None and time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.02)
        said = self._log.read_text()[-500:]
        self.stop()
        raise RuntimeError(f"PgBouncer did not start: {said}")


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
