"""The addresses that an order had, and the generation of its links.

`order_emails` has at most three rows for each order: one for each place.
"""

from peewee import Database
from playhouse.migrate import SchemaMigrator

TABLE = """
CREATE TABLE order_emails (
    intent_id TEXT NOT NULL REFERENCES payment_intents (id),
    place INTEGER NOT NULL CHECK (place IN (1, 2, 3)),
    email TEXT NOT NULL,
    set_by TEXT NOT NULL CHECK (set_by IN ('buyer', 'organizer')),
    at TIMESTAMPTZ NOT NULL,
    counts_from TIMESTAMPTZ,
    salt TEXT,
    organizer_at TIMESTAMPTZ,
    put_back_at TIMESTAMPTZ,
    PRIMARY KEY (intent_id, place)
)
"""


def up(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql(TABLE)
    db.execute_sql(
        "ALTER TABLE payment_intents ADD COLUMN link_generation INTEGER NOT NULL DEFAULT 0"
    )


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("ALTER TABLE payment_intents DROP COLUMN link_generation")
    db.execute_sql("DROP TABLE order_emails")
