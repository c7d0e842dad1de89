"""Messages of organizers, reminders, and mails to organizers about sales."""

from peewee import Database
from playhouse.migrate import SchemaMigrator

TABLE = """
    CREATE TABLE messages (
        id TEXT PRIMARY KEY,
        tenant_id TEXT NOT NULL REFERENCES tenants (id),
        event_id TEXT NOT NULL REFERENCES events (id),
        subject TEXT NOT NULL,
        text TEXT NOT NULL,
        ticket_ids TEXT,
        audience TEXT NOT NULL,
        send_at TIMESTAMPTZ NOT NULL,
        status TEXT NOT NULL,
        recipients INTEGER NOT NULL,
        sent INTEGER NOT NULL DEFAULT 0,
        failed INTEGER NOT NULL DEFAULT 0,
        planned_at TIMESTAMPTZ,
        created_by TEXT NOT NULL,
        created_at TIMESTAMPTZ NOT NULL
    )
"""
COLUMNS = {
    "mails": ("message_id TEXT",),
    "events": ("reminder_hours INTEGER", "reminded_at TIMESTAMPTZ"),
    "tenants": ("sale_mails TEXT NOT NULL DEFAULT 'none'", "sales_told_at TIMESTAMPTZ"),
}
INDEXES = (
    "INDEX messages_of_event ON messages (event_id, id)",
    "INDEX messages_of_tenant ON messages (tenant_id, created_at)",
    "INDEX messages_open ON messages (send_at) WHERE status IN ('scheduled', 'sending')",
    "INDEX messages_previewed ON messages (created_at) WHERE status = 'preview'",
    "UNIQUE INDEX mails_of_message ON mails (message_id, recipient_digest)"
    " WHERE message_id IS NOT NULL",
    "INDEX guests_of_event ON admissions (event_id, id) WHERE intent_id IS NULL",
    "INDEX events_to_remind ON events (start_at)"
    " WHERE reminder_hours IS NOT NULL AND reminded_at IS NULL",
    "INDEX tenants_told_daily ON tenants (sales_told_at) WHERE sale_mails = 'daily'",
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
    db.execute_sql("DROP TABLE messages")
