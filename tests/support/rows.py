"""Everything that is stored, for tests of what must or must not be."""

from collections.abc import Iterator

from ticketing.db.connection import database


def rows() -> Iterator[tuple[str, str]]:
    """Yield each row of each table: the table's name, and the row as text."""
    for table in sorted(database.get_tables()):
        found = database.execute_sql(f'SELECT * FROM "{table}"').fetchall()
        yield from ((table, each) for each in sorted(map(repr, found)))
