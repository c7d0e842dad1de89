"""Apply the migrations in migrations/, under a lock."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from peewee import OperationalError
from playhouse.migrations import MigrationError, Runner

from ticketing.db.connection import database, is_sqlite, savepoint, write_transaction

DIRECTORY = Path(__file__).parent / "migrations"
_TABLE = "schema_migrations"
_BASELINE = "0001_schema"
_OLD = "this database was made before release 2.0, which cannot read it: start with an empty one"
_LOCK_TIMEOUT_SECONDS = 600
_ADVISORY_LOCK = 7_598_805_623_668_405_864
_ATTEMPT_SECONDS = 0.2
"""How long an attempt to lock all tables may take: Postgres looks for deadlocks after 1 s."""
_NOT_LOCKED = "55P03"


def upgrade() -> list[str]:
    """Apply pending migrations in order, and return their names.

    Several processes may call it at once: one migrates, the others wait. MigrationError if the
    database cannot be used; then nothing is applied.
    """
    _check_encoding()
    with _exclusive() as runner:
        to_apply = pending()
        if not to_apply:
            return []
        if to_apply[0] == _BASELINE and database.table_exists(_TABLE):
            raise MigrationError(_OLD)
        _lock_tables()
        return list(runner.up())


def downgrade() -> list[str]:
    """Revert the last migration, and return its name in a list. The first one is never reverted."""
    with _exclusive() as runner:
        if runner.applied().keys() <= {_BASELINE}:
            return []
        _lock_tables()
        return list(runner.down())


def pending() -> list[str]:
    """Return the names of migrations that have not been applied."""
    known = sorted(step.stem for step in DIRECTORY.glob("[0-9]*.py"))
    if not database.table_exists(_TABLE):
        return known
    applied = {name for (name,) in database.execute_sql(f"SELECT name FROM {_TABLE}").fetchall()}
    return [name for name in known if name not in applied]


@contextmanager
def _exclusive() -> Iterator[Runner]:
    """Migrate in one transaction, while no other process migrates."""
    if is_sqlite():
        # Another migration may take longer than the usual timeout for locks.
        database.execute_sql(f"PRAGMA busy_timeout = {_LOCK_TIMEOUT_SECONDS * 1000}")
    with write_transaction():
        if not is_sqlite():
            database.execute_sql("SELECT pg_advisory_xact_lock(%s)", (_ADVISORY_LOCK,))
        yield Runner(database.obj, str(DIRECTORY), table_name=_TABLE)


def _check_encoding() -> None:
    """Refuse a Postgres that stores bytes instead of text, as `initdb --locale=C` makes it."""
    if is_sqlite():
        return
    ((encoding,),) = database.execute_sql("SHOW server_encoding").fetchall()
    name = encoding.decode() if isinstance(encoding, bytes) else encoding
    if name != "UTF8":
        raise MigrationError(f"the database has the encoding {name}: create it with UTF8")


def _lock_tables() -> None:
    """Lock all tables of Postgres before the first change, while requests are served.

    Requests lock tables in another order than migrations change them. So a migration that took its
    locks one by one would deadlock with an order. An attempt that does not get all locks gives them
    back, and requests go on. OperationalError after _LOCK_TIMEOUT_SECONDS.
    """
    tables = [] if is_sqlite() else sorted(database.get_tables())
    if not tables:
        return
    names = ", ".join(f'"{table}"' for table in tables)
    database.execute_sql(f"SET LOCAL lock_timeout = {int(_ATTEMPT_SECONDS * 1000)}")
    until = time.monotonic() + _LOCK_TIMEOUT_SECONDS
    while not _is_done(f"LOCK TABLE {names} IN ACCESS EXCLUSIVE MODE", until):
        time.sleep(_ATTEMPT_SECONDS)
    database.execute_sql("SET LOCAL lock_timeout TO DEFAULT")


def _is_done(statement: str, until: float) -> bool:
    """Run a statement. Return False if it did not get a lock, and it is not too late."""
    try:
        with savepoint():
            database.execute_sql(statement)
        return True
    except OperationalError as error:
        sqlstate = getattr(getattr(error, "orig", None), "sqlstate", None)
        if sqlstate != _NOT_LOCKED or time.monotonic() > until:
            raise
        return False
