"""pgBackRest, as in docs/hosting.md: what was archived survives the loss of the server."""

import os
import shutil
import signal
import subprocess
import time

import psycopg
import pytest

from tests.cli.test_documents import commands
from tests.support.processes import variables_of
from tests.support.remote import RemoteOrganizer
from tools import START_SECONDS, ToolMissing, installer
from tools.postgres import UNPRIVILEGED_USER, find_binaries, readable
from tools.stack import Stack, free_port

pytestmark = pytest.mark.long

OWNER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


class Server:
    """A Postgres in `folder` that archives its log, and the programs to back it up."""

    def __init__(self, folder, pgbackrest, binaries):
        self.folder, self.port = folder, free_port()
        self.user = UNPRIVILEGED_USER if os.geteuid() == 0 else None
        self.data, self.repository = folder / "main", folder / "repository"
        self.binaries = binaries
        libraries = installer.library_environ(pgbackrest).get("LD_LIBRARY_PATH", "")
        self.environ = {
            **os.environ,
            "PATH": os.pathsep.join([str(pgbackrest.parent), os.environ["PATH"]]),
            "LD_LIBRARY_PATH": libraries,
            "PGBACKREST_CONFIG": str(folder / "pgbackrest.conf"),
            "PGBACKREST_LOCK_PATH": str(folder),
            "PGBACKREST_LOG_PATH": str(folder),
            "PGBACKREST_PG1_SOCKET_PATH": str(folder),
            "PGBACKREST_PG1_PORT": str(self.port),
            "PGBACKREST_PG1_USER": "postgres",
        }
        self.url = f"postgresql://postgres@127.0.0.1:{self.port}/postgres"
        self.process = None

    def run(self, *command):
        """Run a command as the server's user."""
        done = subprocess.run(
            command,
            user=self.user,
            cwd="/",
            env=self.environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def start(self):
        """Start it, and wait until it can be written: a restored one replays its log first."""
        log = (self.folder / "log").open("a")
        with log:
            self.process = subprocess.Popen(
                [self.binaries / "postgres", "-D", self.data, "-p", str(self.port)],
                user=self.user,
                cwd="/",
                env=self.environ,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + START_SECONDS
        while not self._is_writable():
            assert time.monotonic() < deadline, (self.folder / "log").read_text()[-2000:]
            time.sleep(0.1)

    def kill(self):
        """Kill it as a lost host: without a last word."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def ask(self, statement):
        with psycopg.connect(self.url, autocommit=True) as connection:
            row = connection.execute(statement).fetchone()
            return None if row is None else row[0]

    def _is_writable(self):
        try:
            return self.ask("SELECT NOT pg_is_in_recovery()")
        except psycopg.OperationalError:
            return False


@pytest.fixture
def server(tmp_path, starts_processes):
    try:
        pgbackrest = installer.from_debian("pgbackrest")
        binaries = find_binaries()[0]
    except ToolMissing as missing:
        pytest.skip(str(missing))
    if binaries is None:
        pytest.skip("TEST_DATABASE_URL is another host's server")
    folder = tmp_path / "postgres"
    folder.mkdir()
    made = Server(
        folder, readable(pgbackrest.parent, folder) / pgbackrest.name, readable(binaries, folder)
    )
    if made.user:
        shutil.chown(folder, made.user)
        for parent in (tmp_path, *tmp_path.parents[:3]):
            parent.chmod(parent.stat().st_mode | 0o011)
    settings = commands("docs/hosting.md", "`/etc/pgbackrest.conf`", "In `postgresql.conf`")
    settings = settings.replace("/mnt/backups/pgbackrest", str(made.repository))
    settings = settings.replace("/var/lib/postgresql/15/main", str(made.data))
    (folder / "pgbackrest.conf").write_text(settings)
    made.run(binaries / "initdb", "-D", made.data, "-U", "postgres", "-A", "trust", "-E", "UTF8")
    lines = [
        f"unix_socket_directories = '{folder}'",
        "archive_mode = on",
        "archive_command = 'pgbackrest --stanza=ticketing archive-push %p'",
        "archive_timeout = 60",
    ]
    text = (made.data / "postgresql.conf").read_text()
    (made.data / "postgresql.conf").write_text("\n".join([text, *lines, ""]))
    made.start()
    yield made
    made.kill()


def test_what_was_archived_survives_the_loss_of_the_server(server, tmp_path):
    server.ask("SELECT 1")
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE ticketing")
    url = server.url.replace("/postgres", "/ticketing").replace("ticketing@", "postgres@")
    with Stack(variables_of(url), log=tmp_path / "log") as stack:
        stack.flask("db", "upgrade")
        stack.start_web()
        acme = RemoteOrganizer(stack, "acme", address=OWNER)
        ticket = acme.ticket(price_amount=0, chain_id=None)
        for command in ("stanza-create", "backup"):
            server.run("pgbackrest", "--stanza=ticketing", command)
        late = acme.preflight(ticket).json
        assert acme.purchase(late).status == 200
        segment = server.ask("SELECT pg_walfile_name(pg_switch_wal())")
        deadline = time.monotonic() + START_SECONDS
        while server.ask("SELECT last_archived_wal FROM pg_stat_archiver") != segment:
            assert time.monotonic() < deadline, (server.folder / "log").read_text()[-2000:]
            time.sleep(0.1)

        server.kill()
        shutil.rmtree(server.data)
        server.run("mkdir", "-m", "700", server.data)
        server.run("pgbackrest", "--stanza=ticketing", "restore")
        server.start()

        stack.flask("db", "restored")
        assert acme.intent(late)["status"] == "confirmed"
        assert acme.purchase(acme.preflight(ticket).json).status == 200
        assert "the books are right" in stack.flask("reconcile")
