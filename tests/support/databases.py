"""Empty databases for tests, on one Postgres server.

To copy the template takes a fifth of a second of CPU, to empty a database two milliseconds. So a
database is used again, unless its test changed more than rows.
"""

import psycopg
import pytest

from tools.postgres import Postgres

USES = 50
"""Deleted rows stay in the files, so a database is not used forever."""

only_once = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
"""For a test in which the database plays no part, or that uses both kinds itself."""

_ROWS_OF_MIGRATIONS = "schema_migrations"

_SHAPE = f"""
SELECT md5(string_agg(found, ' ' ORDER BY found)) FROM (
    SELECT concat_ws(' ', attrelid::regclass, attname, atttypid, attnotnull) FROM pg_attribute
    JOIN pg_class ON pg_class.oid = attrelid
    WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
    UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
    UNION ALL SELECT concat_ws(' ', tgrelid::regclass, tgname, tgenabled) FROM pg_trigger
    WHERE NOT tgisinternal
    UNION ALL SELECT concat_ws(' ', conrelid::regclass, pg_get_constraintdef(oid))
    FROM pg_constraint WHERE connamespace = 'public'::regnamespace
    UNION ALL SELECT concat_ws(' ', proname, prosrc) FROM pg_proc
    WHERE pronamespace = 'public'::regnamespace
    UNION ALL SELECT setconfig::text FROM pg_db_role_setting
    JOIN pg_database ON pg_database.oid = setdatabase WHERE datname = current_database()
    UNION ALL SELECT concat_ws(' ', 'statistics of', starelid::regclass) FROM pg_statistic
    JOIN pg_class ON pg_class.oid = starelid WHERE relnamespace = 'public'::regnamespace
    UNION ALL SELECT {_ROWS_OF_MIGRATIONS}::text FROM {_ROWS_OF_MIGRATIONS}
) AS shape (found)
"""
"""A digest of all but rows: what a test may have changed, statistics for the planner included."""

_OTHERS = """
SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""

_TABLES = f"""
SELECT string_agg(format('DELETE FROM %I;', tablename), ' ') FROM pg_tables
WHERE schemaname = 'public' AND tablename <> '{_ROWS_OF_MIGRATIONS}'
"""


class Databases:
    """The empty databases of one process that runs tests: one at a time."""

    def __init__(self, server: Postgres, template: str) -> None:
        self._server, self._template = server, template
        self._name = template.replace("template", "test")
        self._url: str | None = None
        self._shape: str | None = None
        self._uses = 0

    def take(self) -> str:
        """Return the URL of an empty, migrated database."""
        if self._url is None:
            self._url = self._server.create_database(self._name, self._template)
            self._shape, self._uses = _shape_of(self._url), 0
        self._uses += 1
        return self._url

    def give_back(self) -> None:
        """Empty the database, or give it up."""
        assert self._url is not None
        if self._uses >= USES or not self._empty(self._url):
            self._url = None

    def _empty(self, url: str) -> bool:
        """Delete all rows. Return whether nothing else has changed."""
        try:
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute(_OTHERS)
                if _one(connection, _SHAPE) != self._shape:
                    return False
                # Without triggers: the audit log is append-only, and rows refer to each other.
                connection.execute("SET session_replication_role = replica")
                connection.execute(_one(connection, _TABLES).encode())
                return True
        except psycopg.OperationalError:
            return False


def _shape_of(url: str) -> str:
    with psycopg.connect(url, autocommit=True) as connection:
        return _one(connection, _SHAPE)


def _one(connection: psycopg.Connection, query: str) -> str:
    row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return str(row[0])
