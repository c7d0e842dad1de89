"""The database handle, how it is opened, and the one write transaction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from peewee import (
    Database,
    DatabaseProxy,
    Model,
    ModelSelect,
    PostgresqlDatabase,
    SqliteDatabase,
)

BUSY_TIMEOUT_SECONDS = 10

M = TypeVar("M", bound=Model)

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
    return SqliteDatabase(
        str(path),
        pragmas={"journal_mode": "wal", "foreign_keys": 1, "synchronous": "full"},
        timeout=BUSY_TIMEOUT_SECONDS,
        # A deferred transaction that turns into a writer fails at once when another one writes.
        lock_type="IMMEDIATE",
    )


def _postgres(url: str) -> Database:
    # Peewee knows a URL by this scheme alone.
    return PostgresqlDatabase(url.replace("postgres://", "postgresql://", 1), connect_timeout=5)


def is_sqlite() -> bool:
    """Tell which of the two databases is open."""
    return isinstance(database.obj, SqliteDatabase)


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
