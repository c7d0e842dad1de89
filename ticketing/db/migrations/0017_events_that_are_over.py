"""Add to events: whether one was on sale when it was canceled; since when its erasure is due.

Canceled events with an order were on sale.
"""

from peewee import Database
from playhouse.migrate import SchemaMigrator

COLUMNS = ("was_published BOOLEAN NOT NULL DEFAULT FALSE", "erasure_due_at TIMESTAMPTZ")
INDEXES = (
    "events_due ON events (erasure_due_at) WHERE erasure_due_at IS NOT NULL",
    "events_erased ON events (erasure_tried_at) WHERE erased_at IS NOT NULL",
)


def up(migrator: SchemaMigrator, db: Database) -> None:
    for column in COLUMNS:
        db.execute_sql(f"ALTER TABLE events ADD COLUMN {column}")
    for index in INDEXES:
        db.execute_sql(f"CREATE INDEX {index}")
    db.execute_sql(
        "UPDATE events SET was_published = TRUE WHERE status = 'canceled'"
        " AND EXISTS (SELECT 1 FROM payment_intents WHERE payment_intents.event_id = events.id)"
    )


def down(migrator: SchemaMigrator, db: Database) -> None:
    for index in INDEXES:
        db.execute_sql(f"DROP INDEX {index.split()[0]}")
    for column in reversed(COLUMNS):
        db.execute_sql(f"ALTER TABLE events DROP COLUMN {column.split()[0]}")
