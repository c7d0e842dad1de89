"""Count the bytes that orders store of who paid nothing, to bound them and delete them after a day.

Earlier orders count as one byte each, so that they are deleted, too.
"""

from peewee import Database
from playhouse.migrate import SchemaMigrator


def up(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("ALTER TABLE payment_intents ADD COLUMN stored_bytes INTEGER NOT NULL DEFAULT 1")
    db.execute_sql(
        "CREATE INDEX intents_ended_unpaid ON payment_intents (expires_at)"
        " WHERE stored_bytes > 0 AND amount_received = 0 AND strays_version = 0"
        " AND status IN ('expired', 'canceled')"
    )


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("DROP INDEX intents_ended_unpaid")
    db.execute_sql("ALTER TABLE payment_intents DROP COLUMN stored_bytes")
