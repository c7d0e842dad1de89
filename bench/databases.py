"""The databases that are measured: a SQLite file on disk, a Postgres that waits for its disk."""

import sqlite3
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import psycopg

from bench import cpu
from bench.servers import ServerFailed
from tools.postgres import Postgres

SQLITE = "SQLite"
POSTGRES = "Postgres"


@dataclass(frozen=True)
class Database:
    """An empty database for the service, another for plain SQL, and the process to watch."""

    name: str
    version: str
    url: str
    plain_url: str
    pid: int | None


def sqlite(folder: Path) -> Database:
    """Name two files that do not exist yet."""
    return Database(
        SQLITE,
        sqlite3.sqlite_version,
        f"sqlite:///{folder}/service.db",
        f"sqlite:///{folder}/plain.db",
        None,
    )


def postgres(running: ExitStack) -> Database:
    """Start a server until `running` ends. ServerFailed if its processes are not to be seen."""
    server = running.enter_context(Postgres(durable=True))
    return Database(
        POSTGRES,
        server.version,
        server.create_database("bench"),
        server.create_database("bench_plain"),
        _pid(server.url),
    )


def _pid(url: str) -> int:
    """Return the server's first process: the parent of whoever answers."""
    with psycopg.connect(url) as connection:
        pid = cpu.parent(connection.info.backend_pid)
    if pid is None or not Path(f"/proc/{pid}/comm").read_text().startswith("postgres"):
        raise ServerFailed("the server of TEST_DATABASE_URL does not run on this machine")
    return pid
