"""Everything that is stored, for tests of what must or must not be."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ticketing.db.connection import database, is_sqlite


def rows() -> Iterator[tuple[str, str]]:
    """Yield each row of each table: the table's name, and the row as text."""
    for table in sorted(database.get_tables()):
        found = database.execute_sql(f'SELECT * FROM "{table}"').fetchall()
        yield from ((table, each) for each in sorted(map(repr, found)))


@contextmanager
def restored(tables: Sequence[str]) -> Iterator[None]:
    """Restore the rows of these tables at the end. Each table follows those that it refers to."""
    kept = {table: database.execute_sql(f'SELECT * FROM "{table}"').fetchall() for table in tables}
    yield
    # Postgres numbers the accounts of orders by itself, unless it is told not to.
    given = "" if is_sqlite() else "OVERRIDING SYSTEM VALUE "
    with database.atomic():
        for table in reversed(tables):
            database.execute_sql(f'DELETE FROM "{table}"')
        for table, found in kept.items():
            for row in found:
                values = ", ".join([database.param] * len(row))
                database.execute_sql(f'INSERT INTO "{table}" {given}VALUES ({values})', row)
