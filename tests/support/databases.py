"""Empty databases for tests, on one Postgres server.

To copy the template takes a fifth of a second of CPU, to empty a database two milliseconds. So a
database is used again, unless its test changed more than rows.
"""

from typing import Any, Self

import psycopg
import pytest

from ticketing.db import migrate
from ticketing.db.connection import database, open_database
from tools.postgres import Postgres

APPLICATION_NAME = "databases of tests"
USES = 50
"""Deleted rows stay in the files, so a database is not used forever."""

on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
"""For a test about SQLite."""
only_once = on_sqlite
"""For a test in which the kind of database plays no part, or that uses both itself."""

_ROWS_OF_MIGRATIONS = "schema_migrations"

_CATALOGS = ("class", "attribute", "index", "trigger", "constraint", "proc", "statistic")
_SHAPE = (
    "".join(
        f"SELECT '{each}' AS name, count(*), max(xmin::text::bigint) FROM pg_{each} UNION ALL "
        for each in (*_CATALOGS, "db_role_setting")
    )
    + f"SELECT name, 1, 1 FROM {_ROWS_OF_MIGRATIONS} ORDER BY name"
)
"""How many rows each catalog has, and the last transaction that wrote one: all but a test's rows.

Statistics for the planner are a part of it.
"""

_OTHERS = """
SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""

_TABLES = f"""
SELECT string_agg(format('DELETE FROM %I;', tablename), ' ') FROM pg_tables
WHERE schemaname = 'public' AND tablename <> '{_ROWS_OF_MIGRATIONS}'
"""

_TEMPLATE = "template_of_tests"
_RUN = """
SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s
"""

Rows = list[tuple[Any, ...]]


def template(server: Postgres, run: str) -> str:
    """Return the name of a migrated, empty database.

    The processes of one `run` share it. The first one creates it; the others wait. Its comment
    says for which run it was created.
    """
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("SELECT pg_advisory_lock(1)")
        if connection.execute(_RUN, [_TEMPLATE]).fetchone() != (run,):
            open_database(server.create_database(_TEMPLATE))
            migrate.upgrade()
            database.close()
            comment = f"COMMENT ON DATABASE {_TEMPLATE} IS '{run}'"
            connection.execute(comment.encode())
    return _TEMPLATE


class Databases:
    """The empty databases of one process that runs tests: one at a time. A context manager."""

    def __init__(self, server: Postgres, template: str, name: str) -> None:
        self._server, self._template, self._name = server, template, name
        self._url = ""
        self._connection: psycopg.Connection | None = None
        self._shape: Rows = []
        self._uses = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._give_up()

    def take(self) -> str:
        """Return the URL of an empty, migrated database."""
        if self._connection is None:
            self._url = self._server.create_database(self._name, self._template)
            # A new connection would read the catalogs again after each test.
            self._connection = psycopg.connect(
                self._url, autocommit=True, application_name=APPLICATION_NAME
            )
            self._shape, self._uses = _shape_of(self._connection), 0
        self._uses += 1
        return self._url

    def give_back(self) -> None:
        """Empty the database, or give it up."""
        if self._uses >= USES or not self._empty():
            self._give_up()

    def _empty(self) -> bool:
        """Delete all rows. Return whether nothing else has changed."""
        assert self._connection is not None
        try:
            self._connection.execute(_OTHERS)
            if _shape_of(self._connection) != self._shape:
                return False
            # Without triggers: the audit log is append-only, and rows refer to each other.
            self._connection.execute("SET session_replication_role = replica")
            (statements,) = self._connection.execute(_TABLES.encode()).fetchone() or ("",)
            self._connection.execute(statements.encode())
            return True
        except psycopg.OperationalError:
            return False

    def _give_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _shape_of(connection: psycopg.Connection) -> Rows:
    return connection.execute(_SHAPE.encode()).fetchall()
