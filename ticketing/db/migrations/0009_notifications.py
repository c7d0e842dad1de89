"""Add notifications: the feed, webhook endpoints and their deliveries, mails, and leases."""

from peewee import Database, PostgresqlDatabase
from playhouse.migrate import SchemaMigrator

TABLES = {
    "notification_feeds": """
        tenant_id TEXT PRIMARY KEY REFERENCES tenants (id),
        last_sequence BIGINT NOT NULL,
        forgotten_sequence BIGINT NOT NULL,
        mailed_sequence BIGINT NOT NULL,
        restored_sequence BIGINT
    """,
    "webhook_endpoints": """
        id TEXT PRIMARY KEY,
        tenant_id TEXT NOT NULL REFERENCES tenants (id),
        url TEXT NOT NULL,
        types TEXT NOT NULL,
        secret_key_id TEXT NOT NULL,
        secret TEXT NOT NULL,
        previous_secret TEXT,
        previous_expires_at TIMESTAMPTZ,
        created_at TIMESTAMPTZ NOT NULL,
        updated_at TIMESTAMPTZ NOT NULL,
        sequence BIGINT NOT NULL,
        delivered BIGINT NOT NULL,
        attempts INTEGER NOT NULL,
        refusals INTEGER NOT NULL,
        failing_since TIMESTAMPTZ,
        next_attempt_at TIMESTAMPTZ,
        warned_at TIMESTAMPTZ,
        disabled_at TIMESTAMPTZ,
        disabled_reason TEXT
    """,
    "webhook_deliveries": """
        id TEXT PRIMARY KEY,
        endpoint_id TEXT NOT NULL REFERENCES webhook_endpoints (id) ON DELETE CASCADE,
        notification_id TEXT NOT NULL,
        sequence BIGINT,
        type TEXT NOT NULL,
        is_manual BOOLEAN NOT NULL,
        is_set_aside BOOLEAN NOT NULL,
        created_at TIMESTAMPTZ NOT NULL,
        attempted_at TIMESTAMPTZ,
        status_code INTEGER,
        error TEXT,
        duration_ms INTEGER,
        answer TEXT
    """,
    "mails": """
        id TEXT PRIMARY KEY,
        tenant_id TEXT NOT NULL REFERENCES tenants (id),
        kind TEXT NOT NULL,
        subject TEXT NOT NULL,
        generation INTEGER,
        notification_id TEXT,
        recipient TEXT,
        recipient_digest TEXT,
        status TEXT NOT NULL,
        attempts INTEGER NOT NULL,
        created_at TIMESTAMPTZ NOT NULL,
        next_attempt_at TIMESTAMPTZ,
        ended_at TIMESTAMPTZ,
        error TEXT,
        UNIQUE (notification_id, kind, subject),
        UNIQUE (notification_id, kind, recipient_digest)
    """,
    "leases": """
        name TEXT PRIMARY KEY,
        holder TEXT,
        until TIMESTAMPTZ
    """,
}

INDEXES = (
    "notifications_unnumbered ON notifications (tenant_id, position) WHERE sequence IS NULL",
    "notifications_of_type ON notifications (tenant_id, type, sequence) WHERE sequence IS NOT NULL",
    "notification_feeds_to_mail ON notification_feeds (tenant_id)"
    " WHERE mailed_sequence < last_sequence",
    "webhook_endpoints_of_tenant ON webhook_endpoints (tenant_id, id)",
    "webhook_endpoints_by_key ON webhook_endpoints (secret_key_id)",
    "webhook_endpoints_failing ON webhook_endpoints (failing_since)"
    " WHERE failing_since IS NOT NULL AND disabled_at IS NULL",
    "webhook_deliveries_of_endpoint ON webhook_deliveries (endpoint_id, id)",
    "webhook_deliveries_waiting ON webhook_deliveries (endpoint_id, id) WHERE attempted_at IS NULL",
    "mails_of_subject ON mails (subject, kind)",
    "mails_waiting ON mails (next_attempt_at) WHERE status = 'waiting'",
    "mails_to_recipient ON mails (tenant_id, recipient_digest, ended_at)",
    "mails_by_end ON mails (ended_at) WHERE ended_at IS NOT NULL",
)

# The table `leases` replaces them.
LEASE_COLUMNS = ("lease_holder TEXT", "lease_until TIMESTAMPTZ")


def up(migrator: SchemaMigrator, db: Database) -> None:
    position = "INTEGER PRIMARY KEY"
    if isinstance(db, PostgresqlDatabase):
        position = "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
    # Without a foreign key to tenants: Postgres would check it again for each order.
    db.execute_sql(f"""
        CREATE TABLE notifications (
            position {position},
            id TEXT NOT NULL UNIQUE,
            tenant_id TEXT NOT NULL,
            sequence BIGINT,
            type TEXT NOT NULL,
            created_at TIMESTAMPTZ NOT NULL,
            data TEXT NOT NULL
        )
    """)
    for table, definition in TABLES.items():
        db.execute_sql(f"CREATE TABLE {table} ({definition})")
    db.execute_sql(
        "CREATE UNIQUE INDEX notifications_of_tenant ON notifications (tenant_id, sequence)"
        " WHERE sequence IS NOT NULL"
    )
    for index in INDEXES:
        db.execute_sql(f"CREATE INDEX {index}")
    for column in LEASE_COLUMNS:
        db.execute_sql(f"ALTER TABLE chains DROP COLUMN {column.split()[0]}")


def down(migrator: SchemaMigrator, db: Database) -> None:
    for column in LEASE_COLUMNS:
        db.execute_sql(f"ALTER TABLE chains ADD COLUMN {column}")
    for table in reversed([*TABLES, "notifications"]):
        db.execute_sql(f"DROP TABLE {table}")
