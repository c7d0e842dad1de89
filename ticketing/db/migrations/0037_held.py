"""Index the order of ticket types, and the unpaid orders of an event by their end."""

from peewee import Database
from playhouse.migrate import SchemaMigrator

INDEXES = (
    "ticket_types_in_order ON ticket_types (event_id, position, id)",
    "intents_unpaid_of_event ON payment_intents (event_id, expires_at)"
    " WHERE status = 'awaiting_payment'",
)


def up(migrator: SchemaMigrator, db: Database) -> None:
    for index in INDEXES:
        db.execute_sql(f"CREATE INDEX {index}")


def down(migrator: SchemaMigrator, db: Database) -> None:
    for index in INDEXES:
        db.execute_sql(f"DROP INDEX {index.split()[0]}")
