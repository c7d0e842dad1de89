"""Store which body an x402 order was made with, so that a repeat can be told from another order."""

from peewee import Database
from playhouse.migrate import SchemaMigrator


def up(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("ALTER TABLE payment_intents ADD COLUMN body_digest TEXT")


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("ALTER TABLE payment_intents DROP COLUMN body_digest")
