"""Seats that are given back: the pool of each ticket type, and the orders that take from it."""

from peewee import Database
from playhouse.migrate import SchemaMigrator

COLUMNS = {
    "ticket_types": (
        "returns TEXT NOT NULL DEFAULT 'none'",
        "return_fee_percent INTEGER NOT NULL DEFAULT 0",
        "offered BIGINT NOT NULL DEFAULT 0",
        "taken BIGINT NOT NULL DEFAULT 0 CHECK (0 <= taken AND taken <= offered)",
    ),
    "payment_intents": ("pooled INTEGER NOT NULL DEFAULT 0",),
    "intent_items": ("return_fee_percent INTEGER",),
    "admissions": ("return_amount BIGINT", "returned_at TIMESTAMPTZ"),
}
INDEXES = (
    "pooled_orders ON payment_intents (id) WHERE pooled > 0",
    "offered_seats ON admissions (ticket_type_id, returned_at, id) WHERE returned_at IS NOT NULL",
    "seats_offered_by_tenant ON admissions (tenant_id, id) WHERE returned_at IS NOT NULL",
    "seats_offered_by_event ON admissions (event_id, id) WHERE returned_at IS NOT NULL",
    "types_with_offers ON ticket_types (id) WHERE offered > 0",
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
