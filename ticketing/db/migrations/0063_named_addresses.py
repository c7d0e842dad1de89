"""Ranges of indexes whose addresses x402 clients were told, without an order."""

from peewee import Database
from playhouse.migrate import SchemaMigrator


def up(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("ALTER TABLE skipped_indexes ADD COLUMN named BOOLEAN NOT NULL DEFAULT FALSE")


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("ALTER TABLE skipped_indexes DROP COLUMN named")
