"""Languages: of organizers, of events that have another one, and of orders."""

from peewee import Database
from playhouse.migrate import SchemaMigrator


def up(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("ALTER TABLE tenants ADD COLUMN locale TEXT NOT NULL DEFAULT 'en'")
    db.execute_sql("ALTER TABLE events ADD COLUMN locale TEXT")
    db.execute_sql("ALTER TABLE payment_intents ADD COLUMN locale TEXT")


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("ALTER TABLE payment_intents DROP COLUMN locale")
    db.execute_sql("ALTER TABLE events DROP COLUMN locale")
    db.execute_sql("ALTER TABLE tenants DROP COLUMN locale")
