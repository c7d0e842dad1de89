"""Deposits: part of a price that comes back to who came."""

from peewee import Database
from playhouse.migrate import SchemaMigrator

COLUMNS = {
    "ticket_types": ("deposit_amount BIGINT NOT NULL DEFAULT 0 CHECK (deposit_amount >= 0)",),
    "intent_items": ("deposit_amount BIGINT NOT NULL DEFAULT 0",),
    "payment_intents": ("deposits_tried_at TIMESTAMPTZ",),
    "admissions": ("deposit_released BIGINT NOT NULL DEFAULT 0",),
    "events": (
        "deposits_release TEXT NOT NULL DEFAULT 'automatic'",
        "deposits_run_at TIMESTAMPTZ",
        "deposits_running BOOLEAN NOT NULL DEFAULT FALSE",
    ),
}
INDEXES = (
    "orders_with_deposits ON payment_intents (event_id, deposits_tried_at)"
    " WHERE deposits_tried_at IS NOT NULL",
    "events_releasing ON events (id) WHERE deposits_running = TRUE",
    "types_with_deposits ON ticket_types (event_id) WHERE deposit_amount > 0",
)


def up(migrator: SchemaMigrator, db: Database) -> None:
    for table, columns in COLUMNS.items():
        for column in columns:
            db.execute_sql(f"ALTER TABLE {table} ADD COLUMN {column}")
    for index in INDEXES:
        db.execute_sql(f"CREATE INDEX {index}")


def down(migrator: SchemaMigrator, db: Database) -> None:
    for index in INDEXES:
        db.execute_sql(f"DROP INDEX {index.split()[0]}")
    for table, columns in COLUMNS.items():
        for column in reversed(columns):
            db.execute_sql(f"ALTER TABLE {table} DROP COLUMN {column.split()[0]}")
