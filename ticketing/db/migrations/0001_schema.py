"""The schema of 2.0, from 0001_schema.sql. Until 2.0 is released, that file is edited in place.

It has no `down`: to revert it would delete everything.
"""

from pathlib import Path

from peewee import Database, PostgresqlDatabase
from playhouse.migrate import SchemaMigrator

_SQL = Path(__file__).with_suffix(".sql")

_APPEND_ONLY = {"trail": "the trail is append-only", "scans": "scans are append-only"}


def up(migrator: SchemaMigrator, db: Database) -> None:
    """Create all tables and indexes, and the triggers that keep two tables as they were written."""
    is_postgres = isinstance(db, PostgresqlDatabase)
    identity, blob = "INTEGER PRIMARY KEY", "BLOB"
    if is_postgres:
        identity, blob = "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "BYTEA"
    text = _SQL.read_text().replace(" IDENTITY,", f" {identity},").replace(" BYTES", f" {blob}")
    lines = [line for line in text.splitlines() if not line.startswith("--")]
    for statement in "\n".join(lines).split(";"):
        if statement.strip():
            db.execute_sql(statement)
    for table, why in _APPEND_ONLY.items():
        for statement in _postgres(table, why) if is_postgres else _sqlite(table, why):
            db.execute_sql(statement)


def _postgres(table: str, why: str) -> list[str]:
    return [
        f"CREATE FUNCTION {table}_stays() RETURNS trigger LANGUAGE plpgsql AS"
        f" $$ BEGIN RAISE EXCEPTION '{why}'; END $$",
        f"CREATE TRIGGER {table}_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON {table}"
        f" FOR EACH STATEMENT EXECUTE FUNCTION {table}_stays()",
    ]


def _sqlite(table: str, why: str) -> list[str]:
    return [
        f"CREATE TRIGGER {table}_stays_{what} BEFORE {what} ON {table}"
        f" BEGIN SELECT RAISE(ABORT, '{why}'); END"
        for what in ("UPDATE", "DELETE")
    ]
