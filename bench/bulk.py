"""Rows in bulk: SQL for both databases that makes and copies them without a round trip each."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

from ticketing.db.connection import database, is_sqlite

DAY = 86_400

Changes = Mapping[str, str]
"""Expressions by column."""


def hurry() -> None:
    """Let this connection check no foreign keys, and wait for no disk."""
    if is_sqlite():
        settings = ["foreign_keys = OFF", "synchronous = OFF", "cache_size = -500000"]
        statements = [f"PRAGMA {each}" for each in (*settings, "temp_store = MEMORY")]
    else:
        settings = ["session_replication_role = replica", "synchronous_commit = off"]
        settings += ["work_mem = '256MB'", "maintenance_work_mem = '512MB'"]
        statements = [f"SET {each}" for each in settings]
    for statement in statements:
        run(statement)


@contextmanager
def without_indexes(tables: Collection[str]) -> Iterator[None]:
    """Drop the indexes of some tables that are no constraints, and make them again."""
    of_tables = ", ".join(f"'{table}'" for table in tables)
    if is_sqlite():
        query = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
        query += f" AND tbl_name IN ({of_tables})"
    else:
        query = f"""
            SELECT indexname, indexdef FROM pg_indexes
            WHERE schemaname = 'public' AND tablename IN ({of_tables})
                AND indexname NOT IN (SELECT conname FROM pg_constraint)
        """
    indexes = database.execute_sql(query).fetchall()
    for name, _ in indexes:
        run(f"DROP INDEX {name}")
    yield
    for _, statement in indexes:
        run(statement)


def insert(table: str, values: Changes, source: str, condition: str) -> None:
    """Insert a row with these values for each row of `source` that meets a condition."""
    run(
        f"INSERT INTO {table} ({', '.join(values)})"
        f" SELECT {', '.join(values.values())} FROM {source} WHERE {condition}"
    )


def moved(time: str, seconds: str) -> str:
    """Return a time plus so many seconds, as UtcDateTimeField stores it."""
    if is_sqlite():
        return f"STRFTIME('%Y-%m-%dT%H:%M:%f', {time}, ({seconds}) || ' seconds') || '000Z'"
    return f"(CAST({time} AS TIMESTAMPTZ) + ({seconds}) * INTERVAL '1 second')"


def seconds_ago(seconds: str) -> str:
    """Return the time so many seconds ago."""
    return moved("'now'", f"0 - ({seconds})")


def days_ago(days: str) -> str:
    """Return the time so many days ago."""
    return seconds_ago(f"({days}) * {DAY}")


def numbers(count: int) -> str:
    """Return a table of the numbers `n` from 0."""
    following = f"SELECT n + 1 FROM counted WHERE n < {count - 1}"
    return (
        f"(WITH RECURSIVE counted (n) AS (SELECT 0 UNION ALL {following}) SELECT n FROM counted) k"
    )


def text(number: str) -> str:
    """Return a number as text."""
    return f"CAST({number} AS TEXT)"


def ten_digits(number: str) -> str:
    """Return text of ten digits for a number, in the order of the numbers."""
    return text(f"1000000000 + {number}")


def key(prefix: str, number: str) -> str:
    """Return the id of a number. Ids of one prefix are in the order of their numbers."""
    return f"'{prefix}' || '{'0' * 16}' || {ten_digits(number)}"


def run(statement: str) -> None:
    """Run a statement without parameters."""
    # Without parameters, the driver leaves a % as it is.
    database.cursor().execute(statement)
