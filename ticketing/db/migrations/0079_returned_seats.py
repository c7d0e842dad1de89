"""Note which orders were to have seats that were given back, and when one was refused."""

from peewee import Database
from playhouse.migrate import SchemaMigrator


def up(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("ALTER TABLE payment_intents ADD COLUMN resale BOOLEAN NOT NULL DEFAULT FALSE")
    db.execute_sql("ALTER TABLE ticket_types ADD COLUMN returned_wanted_at TIMESTAMPTZ")


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("ALTER TABLE ticket_types DROP COLUMN returned_wanted_at")
    db.execute_sql("ALTER TABLE payment_intents DROP COLUMN resale")
