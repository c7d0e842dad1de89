"""The database handle, how it is opened, and the one write transaction."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from peewee import (
    Database,
    DatabaseProxy,
    Model,
    ModelSelect,
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

M = TypeVar("M", bound=Model)


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
    return SqliteDatabase(
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
    # Peewee knows a URL by this scheme alone.
    return PostgresqlDatabase(
        urlunsplit(parts._replace(scheme="postgresql", query=plain)), **settings
    )


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
    clause: Any = "FOR SHARE" if shared else "FOR UPDATE"
    return query.for_update(clause, of=of)


def close_broken_connection() -> None:
    """Drop this thread's connection after a database error, so that the next use opens one."""
    database.close()
