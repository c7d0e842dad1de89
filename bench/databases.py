"""The measured databases: a SQLite file on disk, and a Postgres with durable commits."""

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
    """An empty database for the service, another for plain SQL, and the server process."""

    name: str
    version: str
    url: str
    plain_url: str
    pid: int | None


def sqlite(folder: Path) -> Database:
    """Return a database of two files that do not exist yet."""
    return Database(
        SQLITE,
        sqlite3.sqlite_version,
        f"sqlite:///{folder}/service.db",
        f"sqlite:///{folder}/plain.db",
        None,
    )


def postgres(running: ExitStack) -> Database:
    """Start a server that stops with `running`. ServerFailed if its processes are not visible."""
    server = running.enter_context(Postgres(durable=True))
    return Database(
        POSTGRES,
        server.version,
        server.create_database("bench"),
        server.create_database("bench_plain"),
        _pid(server.url),
    )


def _pid(url: str) -> int:
    """Return the server's first process: the parent of the process of a connection."""
    with psycopg.connect(url) as connection:
        pid = cpu.parent(connection.info.backend_pid)
    if pid is None or not Path(f"/proc/{pid}/comm").read_text().startswith("postgres"):
        raise ServerFailed("the server of TEST_DATABASE_URL is not on this machine")
    return pid
