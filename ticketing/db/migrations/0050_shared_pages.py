"""Store which events are unlisted."""

from peewee import Database
from playhouse.migrate import SchemaMigrator


def up(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("ALTER TABLE events ADD COLUMN visibility TEXT NOT NULL DEFAULT 'public'")


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("ALTER TABLE events DROP COLUMN visibility")
