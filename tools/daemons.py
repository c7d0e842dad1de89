"""Programs of Debian packages, for tests: PgBouncer, nginx, Caddy; for measurements: Redis."""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

from tools import START_SECONDS, Running, installer
from tools.namespaces import HERE, Host
from tools.postgres import UNPRIVILEGED_USER, readable
from tools.stack import ROOT, free_port

_PREPARES_SINCE = (1, 22)
"""The first PgBouncer that supports the prepared statements of psycopg. Debian 12 has 1.18."""
_PREPARED_STATEMENTS = 200
"""How many of them it keeps for a connection: the service has fewer."""


class Daemon(Running):
    """A running program on host `on`, with a folder of its own and a free `port`.

    A subclass names its `package`, and calls `_start` with the settings. None runs as root.
    """

    package: str
    program = ""
    """Its file, if it has not the name of the package."""
    called = ""
    """The name under which it is started, if that is not its file's."""

    def __init__(self, on: Host = HERE) -> None:
        """Get the program, but do not start it. ToolMissing."""
        program = installer.from_debian(self.package, self.program)
        self._on = on
        self._folder = Path(tempfile.mkdtemp(prefix=f"ticketing-{program.name}-"))
        self._user = UNPRIVILEGED_USER if os.geteuid() == 0 else None
        if self._user:
            program = readable(program.parent, self._folder) / program.name
            shutil.chown(self._folder, self._user)
        self._folder.chmod(0o755)
        self._program = program
        self.port = free_port()

    @classmethod
    def version(cls) -> str:
        """Return the version of the program. ToolMissing."""
        program = installer.from_debian(cls.package)
        environ = installer.library_environ(program)
        said = subprocess.run(
            [program, "-V"], env=environ, capture_output=True, text=True, check=True
        )
        number = re.search(r"[0-9]+(\.[0-9]+)+", said.stdout + said.stderr)
        return number[0] if number else "0"

    @property
    def pid(self) -> int:
        """The id of its first process."""
        return self._process.pid

    def stop(self) -> None:
        """Kill it with its children: it has no data."""
        with contextlib.suppress(ProcessLookupError):  # it could not start
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self, settings: str, *options: str | Path) -> None:
        """Start it. Its arguments are `options` and the file with the settings."""
        file = self._folder / "settings"
        file.write_text(settings)
        file.chmod(0o644)
        log = self._folder / "log"
        with log.open("w") as output:
            # In a namespace another program starts this one, so it cannot have another name there.
            name = {"executable": self._program} if self.called else {}
            self._process = self._on.start(
                [self.called or self._program, *options, file],
                **name,
                user=self._user,
                cwd="/",
                env=installer.library_environ(self._program),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        if not self._listens():
            said = log.read_text()[-500:]
            self.stop()
            raise RuntimeError(f"{self._program.name} did not start: {said}")

    def _listens(self) -> bool:
        """Wait until it accepts connections. False if it ended, or after START_SECONDS."""
        deadline = time.monotonic() + START_SECONDS
        while self._process.poll() is None and time.monotonic() < deadline:
            try:
                socket.create_connection((self._on.address, self.port), timeout=1).close()
                return True
            except OSError:
                time.sleep(0.02)
        return False


class PgBouncer(Daemon):
    """A running pooler in transaction mode for the server of `server_url`. A context manager.

    Each database gets `pool_size` connections. A client has one for one transaction at a time.
    `prepares`: clients may prepare statements, if it `can_prepare`.
    """

    package = "pgbouncer"

    def __init__(
        self, server_url: str, *, pool_size: int = 4, prepares: bool = False, on: Host = HERE
    ) -> None:
        """Start it on a free port. ToolMissing."""
        super().__init__(on)
        lines = _pgbouncer_settings(server_url, on.address, self.port, pool_size)
        if self.can_prepare():
            lines.append(f"max_prepared_statements = {_PREPARED_STATEMENTS if prepares else 0}")
        self._start("\n".join([*lines, ""]))

    @classmethod
    def can_prepare(cls) -> bool:
        """Return whether its version supports prepared statements. ToolMissing."""
        return tuple(int(part) for part in cls.version().split(".")) >= _PREPARES_SINCE

    @property
    def pid(self) -> int:
        """The id of its process."""
        return self._process.pid

    def url_of(self, database_url: str) -> str:
        """Return the URL of a database through the pooler."""
        place = f"postgres@{self._on.address}:{self.port}"
        return urlunsplit(urlsplit(database_url)._replace(netloc=place))


def _pgbouncer_settings(server_url: str, address: str, port: int, pool_size: int) -> list[str]:
    server = urlsplit(server_url)
    place = f"host={server.hostname} port={server.port or 5432} user={server.username}"
    if server.password:
        place += f" password={unquote(server.password)}"
    return [
        "[databases]",
        f"* = {place}",
        "[pgbouncer]",
        "pool_mode = transaction",
        f"listen_addr = {address}",
        f"listen_port = {port}",
        "unix_socket_dir =",
        # Every client is accepted, as the user above.
        "auth_type = any",
        "max_client_conn = 500",
        f"default_pool_size = {pool_size}",
    ]


class Nginx(Daemon):
    """A running proxy for the server at `port`, by deploy/nginx. A context manager."""

    package = "nginx"

    def __init__(self, port: int) -> None:
        """Start it on a free port of 127.0.0.1. ToolMissing."""
        super().__init__()
        settings = _nginx_settings(self._folder, self.port, port)
        self._start(settings, "-p", self._folder, "-e", "stderr", "-c")

    @property
    def logged(self) -> str:
        """What it has written into its logs."""
        return "".join(file.read_text() for file in self._folder.glob("*.log"))


def _nginx_settings(folder: Path, port: int, to: int) -> str:
    """Return deploy/nginx/ticketing.conf, without TLS and for this port."""
    text = (ROOT / "deploy" / "nginx" / "ticketing.conf").read_text()
    servers = text.split("\nserver {")
    ours = servers[-1].replace(
        "proxy_pass http://127.0.0.1:8000", f"proxy_pass http://127.0.0.1:{to}"
    )
    ours = ours.replace("/var/log/nginx", str(folder))
    ours = re.sub(r"    (ssl_certificate|server_name|listen).*\n", "", ours)
    temporary = "\n".join(
        f"{each}_temp_path {folder}/{each};"
        for each in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    return (
        f"daemon off; pid {folder}/pid; worker_processes 1;\n"
        "events { worker_connections 500; }\n"
        f"http {{ {temporary}\n{servers[0]}\n"
        f"server {{ listen 127.0.0.1:{port};{ours} }}\n"
    )


class Caddy(Daemon):
    """A running proxy with TLS for the server at `port`, by deploy/caddy/Caddyfile.

    A context manager. Its certificate is of an authority of its own, in `authority`.
    """

    package = "caddy"

    def __init__(self, port: int) -> None:
        """Start it on a free port of 127.0.0.1. ToolMissing."""
        super().__init__()
        store = self._folder / "store"
        self.authority = store / "pki" / "authorities" / "local" / "root.crt"
        settings = _caddy_settings(store, self.port, port)
        self._start(settings, "run", "--adapter", "caddyfile", "--config")


def _caddy_settings(store: Path, port: int, to: int) -> str:
    """Return deploy/caddy/Caddyfile for this machine: another port, and no public authority."""
    text = (ROOT / "deploy" / "caddy" / "Caddyfile").read_text()
    ours = [
        "{",
        "    admin off",
        "    skip_install_trust",
        "    auto_https disable_redirects",
        f"    storage file_system {store}",
    ]
    text = text.replace("\n{", "\n" + "\n".join(ours), 1)
    text = text.replace("{$UPSTREAM:127.0.0.1:8000}", f"127.0.0.1:{to}")
    site = f"https://localhost:{port} {{\n    bind 127.0.0.1\n    tls internal"
    return text.replace("{$DOMAIN:tickets.example.org} {", site, 1)


class Redis(Daemon):
    """A running Redis with its default settings. A context manager."""

    package = "redis-tools"
    program, called = "redis-check-rdb", "redis-server"
    """One file, which does what its name says. Another package has a link with the second name."""

    def __init__(self) -> None:
        """Start it on a free port of 127.0.0.1. ToolMissing."""
        super().__init__()
        self._start(f"bind 127.0.0.1\nport {self.port}\ndir {self._folder}\n")
