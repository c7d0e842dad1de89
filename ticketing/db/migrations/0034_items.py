"""Store the items of orders of several ticket types, and what a ticket type says about them."""

from peewee import Database
from playhouse.migrate import SchemaMigrator

COLUMNS = {
    "events": {"carts": "BOOLEAN NOT NULL DEFAULT FALSE"},
    "ticket_types": {
        "description": "TEXT",
        "group_heading": "TEXT",
        "position": "INTEGER NOT NULL DEFAULT 0",
        "admission": "BOOLEAN NOT NULL DEFAULT TRUE",
        "requires_ticket": "BOOLEAN NOT NULL DEFAULT FALSE",
        "free_price": "BOOLEAN NOT NULL DEFAULT FALSE",
        "max_price_amount": "BIGINT",
    },
    "payment_intents": {
        "has_items": "BOOLEAN NOT NULL DEFAULT FALSE",
        "free_seats": "INTEGER",
    },
}

ITEMS = """
    CREATE TABLE intent_items (
        intent_id TEXT NOT NULL REFERENCES payment_intents (id),
        position INTEGER NOT NULL,
        ticket_type_id TEXT NOT NULL REFERENCES ticket_types (id),
        quantity INTEGER NOT NULL CHECK (quantity > 0),
        list_amount BIGINT NOT NULL CHECK (list_amount >= 0),
        unit_amount BIGINT NOT NULL CHECK (unit_amount >= 0),
        admission BOOLEAN NOT NULL,
        vouchered BOOLEAN NOT NULL,
        PRIMARY KEY (intent_id, position)
    )
"""


def up(migrator: SchemaMigrator, db: Database) -> None:
    for table, columns in COLUMNS.items():
        for column, definition in columns.items():
            db.execute_sql(f"ALTER TABLE {table} ADD COLUMN {column} {definition}")
    db.execute_sql(ITEMS)
    db.execute_sql("CREATE INDEX items_of_ticket_type ON intent_items (ticket_type_id, intent_id)")


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("DROP TABLE intent_items")
    for table, columns in COLUMNS.items():
        for column in columns:
            db.execute_sql(f"ALTER TABLE {table} DROP COLUMN {column}")
