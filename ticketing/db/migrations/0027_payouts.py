"""Refunds that were listed for a payer to sign, and how far their events were read."""

from peewee import Database
from playhouse.migrate import SchemaMigrator

TABLES = {
    "payouts": """
        payer TEXT NOT NULL,
        payment_id TEXT NOT NULL,
        tenant_id TEXT NOT NULL REFERENCES tenants (id),
        intent_id TEXT NOT NULL REFERENCES payment_intents (id),
        chain_id BIGINT NOT NULL,
        token_address TEXT NOT NULL,
        recipient TEXT NOT NULL,
        amount BIGINT NOT NULL,
        atomic_amount TEXT NOT NULL,
        created_at TIMESTAMPTZ NOT NULL,
        valid_before TIMESTAMPTZ NOT NULL,
        tx_hash TEXT,
        log_index INTEGER,
        transfer_log INTEGER,
        block_number BIGINT,
        block_hash TEXT,
        block_time TIMESTAMPTZ,
        paid_to TEXT,
        paid_amount TEXT,
        waits BOOLEAN NOT NULL DEFAULT FALSE,
        unbooked TEXT,
        tried_at TIMESTAMPTZ,
        PRIMARY KEY (payer, payment_id)
    """,
    "payout_cursors": """
        chain_id BIGINT PRIMARY KEY,
        block_number BIGINT NOT NULL,
        block_hash TEXT NOT NULL,
        block_time TIMESTAMPTZ NOT NULL,
        restored_at TIMESTAMPTZ
    """,
}
INDEXES = (
    "payouts_of_intent ON payouts (intent_id)",
    "payouts_valid ON payouts (chain_id, valid_before)",
    "payouts_seen ON payouts (chain_id, block_number) WHERE tx_hash IS NOT NULL",
    "payouts_waiting ON payouts (chain_id, payment_id) WHERE waits",
    "payouts_unbooked ON payouts (tenant_id, chain_id, block_number) WHERE unbooked IS NOT NULL",
)


def up(migrator: SchemaMigrator, db: Database) -> None:
    for table, definition in TABLES.items():
        db.execute_sql(f"CREATE TABLE {table} ({definition})")
    for index in INDEXES:
        db.execute_sql(f"CREATE INDEX {index}")


def down(migrator: SchemaMigrator, db: Database) -> None:
    for table in reversed(TABLES):
        db.execute_sql(f"DROP TABLE {table}")
