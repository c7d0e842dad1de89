"""Store what each seat cost, and how much of it its order no longer keeps.

A seat without an `amount` cost its order's `unit_amount`: no admission is rewritten, except the few
that were voided with a refund. The version before writes `void_refund` and `seats_refunded` only.
"""

from peewee import Database
from playhouse.migrate import SchemaMigrator

COLUMNS = {
    "admissions": {"amount": "BIGINT", "released": "BIGINT NOT NULL DEFAULT 0"},
    "payment_intents": {"released": "BIGINT NOT NULL DEFAULT 0"},
}


def up(migrator: SchemaMigrator, db: Database) -> None:
    for table, columns in COLUMNS.items():
        for column, definition in columns.items():
            db.execute_sql(f"ALTER TABLE {table} ADD COLUMN {column} {definition}")
    db.execute_sql(
        """
        UPDATE admissions SET released = (
            SELECT unit_amount FROM payment_intents WHERE id = admissions.intent_id
        ) WHERE void_refund AND intent_id IS NOT NULL
        """
    )
    db.execute_sql(
        """
        UPDATE payment_intents SET released = unit_amount * seats_refunded WHERE seats_refunded > 0
        """
    )


def down(migrator: SchemaMigrator, db: Database) -> None:
    for table, columns in COLUMNS.items():
        for column in columns:
            db.execute_sql(f"ALTER TABLE {table} DROP COLUMN {column}")
