"""Store which refunds the organizer pays by hand, so that they are on no list."""

from peewee import Database
from playhouse.migrate import SchemaMigrator


def up(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("ALTER TABLE payment_intents ADD COLUMN refund_by_hand_at TIMESTAMPTZ")


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("ALTER TABLE payment_intents DROP COLUMN refund_by_hand_at")
