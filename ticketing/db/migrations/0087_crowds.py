"""Let organizers name networks behind which many people order tickets of an event."""

from peewee import Database
from playhouse.migrate import SchemaMigrator


def up(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("ALTER TABLE events ADD COLUMN crowds TEXT")


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("ALTER TABLE events DROP COLUMN crowds")
