"""The database handle, how it is opened, and the one write transaction."""

from __future__ import annotations

import select
import threading
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

from ticketing import driver

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
    """SQLite, which takes a transaction back by itself where the disk is full."""

    _state: Any

    def rollback(self) -> None:
        """Take the transaction back, if that has not been done."""
        connection = self._state.conn
        if connection is None or connection.in_transaction:
            super().rollback()


class _Postgres(PostgresqlDatabase):
    """Postgres, with a new connection where the server has ended the last one.

    Before a transaction, or a statement outside of one, the socket is looked at, which costs no
    query: a server says nothing unasked unless it leaves. As nothing has been sent yet, all may be
    sent on a new connection. Within a transaction nothing may: what was done there is gone.
    """

    _state: Any

    def begin(self, *args: Any, **options: Any) -> None:
        """Begin a transaction."""
        self._leave_what_has_ended()
        super().begin(*args, **options)

    def execute_sql(self, sql: str, params: Any = None) -> Any:
        """Run a statement; return its cursor."""
        if not self._state.transactions:
            self._leave_what_has_ended()
        return super().execute_sql(sql, params)  # type: ignore[no-untyped-call]

    def _connect(self) -> Any:
        connection = super()._connect()  # type: ignore[misc]
        self._state.ended = select.poll()
        self._state.ended.register(connection.fileno(), select.POLLIN)
        return connection

    def _leave_what_has_ended(self) -> None:
        state = self._state
        if not state.closed and (state.conn.closed or state.ended.poll(0)):
            self.close()


class _Routed(DatabaseProxy):
    """The database, or its replica in a thread that reads there at the moment.

    `avoided_until`: the replica could not be read and is let alone (time.monotonic).
    """

    __slots__ = ("_callbacks", "_primary", "_thread", "avoided_until", "replica")

    def __init__(self) -> None:
        self._thread = threading.local()
        self.replica: Database | None = None
        self.avoided_until = 0.0
        super().__init__()

    def initialize(self, obj: Database | None) -> None:
        """Take `obj` for the database."""
        self._primary = obj

    @property
    def obj(self) -> Any:
        """The database that this thread uses now."""
        return getattr(self._thread, "reads", None) or self._primary

    @contextmanager
    def on_replica(self) -> Iterator[None]:
        """Let this thread read from the replica, if there is one, until the block ends."""
        self._thread.reads = self.replica
        try:
            yield
        finally:
            self._thread.reads = None


database = _Routed()


def open_database(url: str, replica_url: str | None = None) -> None:
    """Point every model at the database that `url` names. Nothing is connected to yet.

    Each thread gets a connection of its own at its first query and keeps it.
    """
    for before in (database.obj, database.replica):
        if before is not None:
            before.close()
    database.initialize(_sqlite(url) if url.startswith("sqlite:") else _postgres(url))
    database.replica = None if replica_url is None else _postgres(replica_url)
    database.avoided_until = 0.0


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
    driver.load()
    parts = urlsplit(url)
    options = parse_qsl(parts.query)
    plain = urlencode([option for option in options if option != BEHIND_PGBOUNCER])
    settings: dict[str, Any] = {**_PATIENCE}
    if BEHIND_PGBOUNCER in options:
        # A statement prepared on one connection is not there on the next that PgBouncer picks.
        settings["prepare_threshold"] = None
    # Peewee knows a URL by this scheme alone.
    return _Postgres(urlunsplit(parts._replace(scheme="postgresql", query=plain)), **settings)


def is_sqlite() -> bool:
    """Tell which of the two databases is open."""
    return isinstance(database.obj, SqliteDatabase)


@contextmanager
def snapshot() -> Iterator[None]:
    """Run a block that only reads in one transaction: all that it reads is of one moment."""
    with database.transaction("DEFERRED" if is_sqlite() else "REPEATABLE READ"):
        yield


@contextmanager
def write_transaction() -> Iterator[None]:
    """Run a block in one transaction that may write: all of it happens, or none.

    On SQLite it takes the write lock before it reads anything (BEGIN IMMEDIATE).
    """
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
    # Peewee takes the clause itself too, which its type stubs do not know.
    # Whoever only refers to a row (a foreign key) need not wait for it.
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
