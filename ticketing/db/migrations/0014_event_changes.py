"""Count the changes of an event in its ticket types, so that an order need not read it again."""

from peewee import Database
from playhouse.migrate import SchemaMigrator


def up(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("ALTER TABLE ticket_types ADD COLUMN event_changes INTEGER NOT NULL DEFAULT 0")


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("ALTER TABLE ticket_types DROP COLUMN event_changes")
