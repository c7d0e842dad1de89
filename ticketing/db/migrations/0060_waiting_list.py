"""The waiting list: people who wait for seats of a ticket type that is sold out."""

from peewee import Database
from playhouse.migrate import SchemaMigrator

TABLE = """
    CREATE TABLE waiting_list_entries (
        id TEXT PRIMARY KEY,
        tenant_id TEXT NOT NULL REFERENCES tenants (id),
        event_id TEXT NOT NULL REFERENCES events (id),
        ticket_type_id TEXT NOT NULL REFERENCES ticket_types (id),
        quantity INTEGER NOT NULL CHECK (quantity > 0),
        email TEXT,
        mailbox TEXT,
        name TEXT,
        locale TEXT,
        status TEXT NOT NULL,
        client TEXT,
        client_site TEXT,
        intent_id TEXT UNIQUE REFERENCES payment_intents (id),
        created_at TIMESTAMPTZ NOT NULL,
        confirmed_at TIMESTAMPTZ,
        offered_at TIMESTAMPTZ,
        offer_expires_at TIMESTAMPTZ
    )
"""
COLUMNS = {
    "ticket_types": (
        "allow_waitinglist BOOLEAN NOT NULL DEFAULT FALSE",
        "waiting BIGINT NOT NULL DEFAULT 0 CHECK (waiting >= 0)",
    ),
    "event_stock": ("waiting BIGINT NOT NULL DEFAULT 0 CHECK (waiting >= 0)",),
    "events": ("waiting_list_hours INTEGER NOT NULL DEFAULT 24",),
}
INDEXES = (
    "UNIQUE INDEX one_open_entry ON waiting_list_entries (ticket_type_id, mailbox)"
    " WHERE status IN ('unconfirmed', 'waiting', 'offered')",
    "INDEX entries_of_type ON waiting_list_entries (ticket_type_id)",
    "INDEX entries_of_event ON waiting_list_entries (event_id, id)",
    "INDEX entries_that_wait ON waiting_list_entries (ticket_type_id, confirmed_at, id)"
    " WHERE status = 'waiting'",
    "INDEX entries_unconfirmed ON waiting_list_entries (created_at) WHERE status = 'unconfirmed'",
    "INDEX entries_offered ON waiting_list_entries (intent_id) WHERE status = 'offered'",
    "INDEX types_waited_for ON ticket_types (event_id) WHERE waiting > 0",
)


def up(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql(TABLE)
    for table, columns in COLUMNS.items():
        for column in columns:
            db.execute_sql(f"ALTER TABLE {table} ADD COLUMN {column}")
    for index in INDEXES:
        db.execute_sql(f"CREATE {index}")


def down(migrator: SchemaMigrator, db: Database) -> None:
    for index in INDEXES:
        db.execute_sql(f"DROP INDEX {index.split('INDEX ')[1].split()[0]}")
    for table, columns in COLUMNS.items():
        for column in columns:
            db.execute_sql(f"ALTER TABLE {table} DROP COLUMN {column.split()[0]}")
    db.execute_sql("DROP TABLE waiting_list_entries")
