"""Store vouchers, and which ticket types need one."""

from peewee import Database
from playhouse.migrate import SchemaMigrator

COLUMNS = {
    "ticket_types": {
        "require_voucher": "BOOLEAN NOT NULL DEFAULT FALSE",
        "hide_without_voucher": "BOOLEAN NOT NULL DEFAULT FALSE",
    },
    "payment_intents": {"voucher_id": "TEXT REFERENCES vouchers (id)"},
}

VOUCHERS = """
    CREATE TABLE vouchers (
        id TEXT PRIMARY KEY,
        tenant_id TEXT NOT NULL REFERENCES tenants (id),
        event_id TEXT NOT NULL REFERENCES events (id),
        code TEXT NOT NULL,
        max_usages INTEGER NOT NULL,
        held INTEGER NOT NULL DEFAULT 0 CHECK (held >= 0),
        redeemed INTEGER NOT NULL DEFAULT 0 CHECK (redeemed >= 0),
        min_usages INTEGER NOT NULL DEFAULT 1,
        valid_until TIMESTAMPTZ,
        price_mode TEXT NOT NULL,
        value BIGINT,
        ticket_ids TEXT,
        tag TEXT,
        comment TEXT,
        disabled_at TIMESTAMPTZ,
        created_at TIMESTAMPTZ NOT NULL,
        updated_at TIMESTAMPTZ NOT NULL,
        CHECK (held + redeemed <= max_usages)
    )
"""


def up(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql(VOUCHERS)
    db.execute_sql("CREATE UNIQUE INDEX vouchers_by_code ON vouchers (event_id, code)")
    db.execute_sql("CREATE INDEX vouchers_of_tenant ON vouchers (tenant_id, id)")
    db.execute_sql("CREATE INDEX vouchers_of_event ON vouchers (event_id, id)")
    db.execute_sql("CREATE INDEX vouchers_by_tag ON vouchers (event_id, tag, id)")
    for table, columns in COLUMNS.items():
        for column, definition in columns.items():
            db.execute_sql(f"ALTER TABLE {table} ADD COLUMN {column} {definition}")
    db.execute_sql(
        """
        CREATE INDEX intents_of_voucher ON payment_intents (voucher_id)
        WHERE voucher_id IS NOT NULL
        """
    )


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("DROP INDEX intents_of_voucher")
    for table, columns in COLUMNS.items():
        for column in columns:
            db.execute_sql(f"ALTER TABLE {table} DROP COLUMN {column}")
    db.execute_sql("DROP TABLE vouchers")
