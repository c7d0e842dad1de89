"""Organizers whose events programs may find without knowing them."""

from peewee import Database
from playhouse.migrate import SchemaMigrator

INDEX = "events_coming ON events (start_at, id) WHERE status = 'published'"


def up(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("ALTER TABLE tenants ADD COLUMN listed BOOLEAN NOT NULL DEFAULT FALSE")
    db.execute_sql(f"CREATE INDEX {INDEX}")


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql(f"DROP INDEX {INDEX.split()[0]}")
    db.execute_sql("ALTER TABLE tenants DROP COLUMN listed")
