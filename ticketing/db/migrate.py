"""Apply the migrations in migrations/, under a lock."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playhouse.migrations import Runner

from ticketing.db.connection import database, is_sqlite, write_transaction

DIRECTORY = Path(__file__).parent / "migrations"
_TABLE = "schema_migrations"
_LOCK_TIMEOUT_SECONDS = 600
_ADVISORY_LOCK = 7_598_805_623_668_405_864


def upgrade() -> list[str]:
    """Apply pending migrations in order, and return their names.

    Several processes may call it at once: one migrates, the others wait. MigrationError if a
    migration finds something that an operator must change first; then none is applied.
    """
    with _exclusive() as runner:
        return list(runner.up())


def downgrade() -> list[str]:
    """Revert the last migration, and return its name in a list."""
    with _exclusive() as runner:
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
