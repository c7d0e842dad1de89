"""Networks whose requests are refused for a while."""

from peewee import Database
from playhouse.migrate import SchemaMigrator

NETWORKS = """
    network TEXT PRIMARY KEY,
    until TIMESTAMPTZ NOT NULL,
    created_at TIMESTAMPTZ NOT NULL
"""


def up(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql(f"CREATE TABLE blocked_networks ({NETWORKS})")


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("DROP TABLE blocked_networks")
