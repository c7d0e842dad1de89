"""Store until when an order is set aside, and the block on which a pending refund waits."""

from peewee import Database
from playhouse.migrate import SchemaMigrator

INDEX = (
    "intents_set_aside ON payment_intents (chain_id, set_aside_until)"
    " WHERE set_aside_until IS NOT NULL"
)


def up(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("ALTER TABLE payment_intents ADD COLUMN set_aside_until TIMESTAMPTZ")
    db.execute_sql("ALTER TABLE payment_intents ADD COLUMN pending_block BIGINT")
    db.execute_sql(f"CREATE INDEX {INDEX}")


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql(f"DROP INDEX {INDEX.split()[0]}")
    db.execute_sql("ALTER TABLE payment_intents DROP COLUMN pending_block")
    db.execute_sql("ALTER TABLE payment_intents DROP COLUMN set_aside_until")
