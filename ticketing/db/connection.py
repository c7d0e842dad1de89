"""The database handle: open it, transactions, locks, and recovery of broken connections."""

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

# Without these options, a connection waits 15 minutes for a Postgres whose host is down.
_TIMEOUTS = {
    "connect_timeout": 5,
    "tcp_user_timeout": 10_000,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
}

_UNPREPARED, _PREPARED = ("pgbouncer", "true"), ("pgbouncer", "prepares")
"""The query parameter in the URL for a PgBouncer with transaction pooling.

The second one is for a PgBouncer with `max_prepared_statements`, which has no effect before 1.22.
"""

UNAVAILABLE = (OperationalError, InterfaceError, InternalError)
"""The errors if the database is unreachable, locked, full, read-only or disconnected."""

M = TypeVar("M", bound=Model)


class _Sqlite(SqliteDatabase):
    """SQLite. It rolls back a transaction by itself if the disk is full."""

    def rollback(self) -> None:
        """Roll back the transaction, unless SQLite has already done so."""
        connection: sqlite3.Connection = self.connection()  # type: ignore[no-untyped-call]
        if connection.in_transaction:
            super().rollback()


class _Postgres(PostgresqlDatabase):
    """Postgres. It reconnects if the server has closed the connection.

    The socket is checked before a transaction, and before a statement outside of one. This needs
    no query: a server sends unrequested data only when it closes. At that time nothing has been
    sent, so a new connection loses nothing. Inside a transaction, it would lose earlier changes.
    """

    def begin(self, *args: Any, **options: Any) -> None:
        """Begin a transaction."""
        self._leave_closed_connection()
        super().begin(*args, **options)

    def execute_sql(self, sql: str, params: Any = None) -> Any:
        """Run a statement, and return its cursor."""
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
    """Bind all models to the database at `url`. This opens no connection yet.

    Each thread opens its own connection at its first query, and keeps it.
    """
    if database.obj is not None:
        database.close()
    database.initialize(_sqlite(url) if url.startswith("sqlite:") else _postgres(url))


def _sqlite(url: str) -> Database:
    path = Path(url.removeprefix("sqlite:///"))
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        path.touch(mode=0o600)  # only the owner may read it; SQLite gives -wal the same mode
    return _Sqlite(
        str(path),
        pragmas={"journal_mode": "wal", "foreign_keys": 1, "synchronous": "full"},
        timeout=BUSY_TIMEOUT_SECONDS,
        # A deferred transaction that starts to write fails at once if another one is writing.
        lock_type="IMMEDIATE",
    )


def _postgres(url: str) -> Database:
    parts = urlsplit(url)
    options = parse_qsl(parts.query)
    plain = urlencode([each for each in options if each not in (_UNPREPARED, _PREPARED)])
    settings: dict[str, Any] = {**_TIMEOUTS}
    if _UNPREPARED in options:
        # PgBouncer may choose another connection, which does not have the prepared statement.
        settings["prepare_threshold"] = None
    # Peewee supports only this scheme.
    return _Postgres(urlunsplit(parts._replace(scheme="postgresql", query=plain)), **settings)


def is_behind_pgbouncer(url: str) -> bool:
    """Return whether a URL says that PgBouncer is in front of Postgres."""
    return not {_UNPREPARED, _PREPARED}.isdisjoint(parse_qsl(urlsplit(url).query))


def is_sqlite() -> bool:
    """Return whether the open database is SQLite."""
    return isinstance(database.obj, SqliteDatabase)


@contextmanager
def snapshot() -> Iterator[None]:
    """Run a read-only block in one transaction, so that it sees one consistent state."""
    with database.transaction("DEFERRED" if is_sqlite() else "REPEATABLE READ"):
        yield


@contextmanager
def write_transaction() -> Iterator[None]:
    """Run a block in one transaction that may write. All changes are applied, or none.

    Inside another transaction, the block is part of it: if an error is caught in between, the
    partial changes stay. On SQLite it takes the write lock first (BEGIN IMMEDIATE).
    """
    with database.transaction():
        yield


@contextmanager
def savepoint() -> Iterator[None]:
    """Run a block in a savepoint. Its failure does not end the outer write transaction."""
    with database.atomic():
        yield


def locked(
    query: ModelSelect[M], *, of: type[Model] | None = None, shared: bool = False
) -> ModelSelect[M]:
    """Lock the rows that `query` selects until the write transaction ends.

    If the query joins tables, `of` is the model to lock. A `shared` lock blocks writers, but not
    other shared locks. On SQLite the transaction itself is the lock.
    """
    if is_sqlite():
        return query
    # Peewee accepts a clause as text, but its type stubs do not. This clause does not block
    # inserts of rows with a foreign key to the locked row.
    clause: Any = "FOR SHARE" if shared else "FOR NO KEY UPDATE"
    return query.for_update(clause, of=of)


def one_at_a_time(name: str) -> None:
    """Take a lock with this name until the write transaction ends.

    On SQLite the transaction itself is the lock.
    """
    if not is_sqlite():
        database.execute_sql("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [name])


def close_broken_connection() -> None:
    """Close this thread's connection after a database error. The next query opens a new one."""
    database.close()
