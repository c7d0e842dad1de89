"""Descriptions of apps: the page asks for one, and the worker reads it.

The version before reads them in the page, and does not use this table.
"""

from peewee import Database
from playhouse.migrate import SchemaMigrator

TABLE = """
    CREATE TABLE app_descriptions (
        id TEXT PRIMARY KEY,
        tenant_id TEXT NOT NULL REFERENCES tenants (id),
        url TEXT NOT NULL,
        asked_at TIMESTAMPTZ NOT NULL,
        read_at TIMESTAMPTZ,
        waited_ms INTEGER,
        document TEXT
    )
"""
INDEXES = (
    "app_descriptions_of_url ON app_descriptions (url, asked_at)",
    "app_descriptions_of_tenant ON app_descriptions (tenant_id, asked_at)",
    "app_descriptions_by_time ON app_descriptions (asked_at)",
    "app_descriptions_kept ON app_descriptions (read_at) WHERE document IS NOT NULL",
)


def up(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql(TABLE)
    for index in INDEXES:
        db.execute_sql(f"CREATE INDEX {index}")


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("DROP TABLE app_descriptions")
