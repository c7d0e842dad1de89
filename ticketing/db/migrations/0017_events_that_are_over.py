"""Add to events: whether one was on sale when it was canceled; since when its erasure is due.

Canceled events with an order were on sale.
"""

from peewee import Database
from playhouse.migrate import SchemaMigrator

COLUMNS = ("was_published BOOLEAN NOT NULL DEFAULT FALSE", "erasure_due_at TIMESTAMPTZ")


def up(migrator: SchemaMigrator, db: Database) -> None:
    for column in COLUMNS:
        db.execute_sql(f"ALTER TABLE events ADD COLUMN {column}")
    db.execute_sql(
        "UPDATE events SET was_published = TRUE WHERE status = 'canceled'"
        " AND EXISTS (SELECT 1 FROM payment_intents WHERE payment_intents.event_id = events.id)"
    )


def down(migrator: SchemaMigrator, db: Database) -> None:
    for column in reversed(COLUMNS):
        db.execute_sql(f"ALTER TABLE events DROP COLUMN {column.split()[0]}")
