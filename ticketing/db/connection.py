"""The database handle, how it is opened, and the one write transaction."""

from __future__ import annotations

import select
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from peewee import (
    Database,
    DatabaseProxy,
    InterfaceError,
    InternalError,
    Model,
    ModelSelect,
    OperationalError,
    PostgresqlDatabase,
    SqliteDatabase,
)

BUSY_TIMEOUT_SECONDS = 10

# A Postgres whose host is gone would be waited for a quarter of an hour.
_PATIENCE = {
    "connect_timeout": 5,
    "tcp_user_timeout": 10_000,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
}

BEHIND_PGBOUNCER = ("pgbouncer", "true")
"""What a URL's query says if PgBouncer pools transactions before the database."""

UNAVAILABLE = (OperationalError, InterfaceError, InternalError)
"""What a database raises that is away, locked, full, read-only or gone in the middle."""

M = TypeVar("M", bound=Model)


class _Sqlite(SqliteDatabase):
    """SQLite, which rolls a transaction back by itself when the disk is full."""

    def rollback(self) -> None:
        """Roll the transaction back, unless SQLite has done so."""
        connection: sqlite3.Connection = self.connection()  # type: ignore[no-untyped-call]
        if connection.in_transaction:
            super().rollback()


class _Postgres(PostgresqlDatabase):
    """Postgres, with a new connection when the server has closed the last one.

    The socket is checked before a transaction, and before a statement outside of one. That costs
    no query: a server sends nothing unasked except when it closes. Nothing has been sent at that
    moment, so a new connection loses nothing. Inside a transaction a new connection would lose
    what was done.
    """

    def begin(self, *args: Any, **options: Any) -> None:
        """Begin a transaction."""
        self._leave_closed_connection()
        super().begin(*args, **options)

    def execute_sql(self, sql: str, params: Any = None) -> Any:
        """Run a statement; return its cursor."""
        if not self.in_transaction():
            self._leave_closed_connection()
        return super().execute_sql(sql, params)  # type: ignore[no-untyped-call]

    def _leave_closed_connection(self) -> None:
        if self.is_closed():
            return
        connection: Any = self.connection()  # type: ignore[no-untyped-call]
        if connection.closed or _has_input(connection.fileno()):
            self.close()


def _has_input(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


database = DatabaseProxy()


def open_database(url: str) -> None:
    """Point every model at the database that `url` names. Nothing is connected to yet.

    Each thread gets a connection of its own at its first query and keeps it.
    """
    if database.obj is not None:
        database.close()
    database.initialize(_sqlite(url) if url.startswith("sqlite:") else _postgres(url))


def _sqlite(url: str) -> Database:
    path = Path(url.removeprefix("sqlite:///"))
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        path.touch(mode=0o600)  # nobody else on the host is to read it; SQLite's -wal follows it
    return _Sqlite(
        str(path),
        pragmas={"journal_mode": "wal", "foreign_keys": 1, "synchronous": "full"},
        timeout=BUSY_TIMEOUT_SECONDS,
        # A deferred transaction that turns into a writer fails at once when another one writes.
        lock_type="IMMEDIATE",
    )


def _postgres(url: str) -> Database:
    parts = urlsplit(url)
    options = parse_qsl(parts.query)
    plain = urlencode([option for option in options if option != BEHIND_PGBOUNCER])
    settings: dict[str, Any] = {**_PATIENCE}
    if BEHIND_PGBOUNCER in options:
        # A statement prepared on one connection is not there on the next that PgBouncer picks.
        settings["prepare_threshold"] = None
    # Peewee knows only this scheme.
    return _Postgres(urlunsplit(parts._replace(scheme="postgresql", query=plain)), **settings)


def is_sqlite() -> bool:
    """Return whether the open database is SQLite."""
    return isinstance(database.obj, SqliteDatabase)


@contextmanager
def snapshot() -> Iterator[None]:
    """Run a block that only reads in one transaction: all that it reads is of one moment."""
    with database.transaction("DEFERRED" if is_sqlite() else "REPEATABLE READ"):
        yield


@contextmanager
def write_transaction() -> Iterator[None]:
    """Run a block in one transaction that may write: all of it happens, or none.

    Inside another one it is part of that one: an error that is caught between the two leaves half
    of it done. On SQLite it takes the write lock before it reads anything (BEGIN IMMEDIATE).
    """
    with database.transaction():
        yield


@contextmanager
def savepoint() -> Iterator[None]:
    """Run a block whose failure does not end the write transaction around it, if there is one."""
    with database.atomic():
        yield


def locked(
    query: ModelSelect[M], *, of: type[Model] | None = None, shared: bool = False
) -> ModelSelect[M]:
    """Lock the rows that `query` selects until the write transaction ends.

    Where the query joins, `of` names the model whose rows are meant. A `shared` lock keeps
    writers out, not one another. On SQLite the transaction itself is that lock.
    """
    if is_sqlite():
        return query
    # Peewee takes a clause as text, which its type stubs do not know. This one does not block
    # inserts of rows that refer to the locked one by a foreign key.
    clause: Any = "FOR SHARE" if shared else "FOR NO KEY UPDATE"
    return query.for_update(clause, of=of)


def one_at_a_time(name: str) -> None:
    """Let one write transaction at a time go on from here, of those that give this name.

    On SQLite the transaction itself is that lock.
    """
    if not is_sqlite():
        database.execute_sql("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [name])


def close_broken_connection() -> None:
    """Drop this thread's connection after a database error, so that the next use opens one."""
    database.close()
