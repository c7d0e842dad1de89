"""Index the order of ticket types, those that let nobody in, and unpaid orders by their end."""

from peewee import Database
from playhouse.migrate import SchemaMigrator

INDEXES = (
    "ticket_types_in_order ON ticket_types (event_id, position, id)",
    "ticket_types_handed_out ON ticket_types (tenant_id) WHERE NOT admission",
    "intents_unpaid_of_event ON payment_intents (event_id, expires_at)"
    " WHERE status = 'awaiting_payment'",
)


def up(migrator: SchemaMigrator, db: Database) -> None:
    for index in INDEXES:
        db.execute_sql(f"CREATE INDEX {index}")


def down(migrator: SchemaMigrator, db: Database) -> None:
    for index in INDEXES:
        db.execute_sql(f"DROP INDEX {index.split()[0]}")
