"""Add what x402 needs: the settlements of signed transfers, and the tokens' EIP-712 names."""

from peewee import Database
from playhouse.migrate import SchemaMigrator

COLUMNS = {
    "payment_intents": ("x402 BOOLEAN NOT NULL DEFAULT FALSE", "idempotency_digest TEXT"),
    "chains": ("domain_name TEXT", "domain_version TEXT"),
}

TABLE = """
    chain_id BIGINT NOT NULL,
    token_address TEXT NOT NULL,
    payer TEXT NOT NULL,
    nonce TEXT NOT NULL,
    intent_id TEXT NOT NULL REFERENCES payment_intents (id),
    value TEXT NOT NULL,
    valid_after BIGINT NOT NULL,
    valid_before BIGINT NOT NULL,
    signature TEXT NOT NULL,
    state TEXT NOT NULL,
    calls INTEGER NOT NULL,
    next_at TIMESTAMPTZ NOT NULL,
    tx_hash TEXT,
    created_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (chain_id, token_address, payer, nonce)
"""

INDEXES = (
    # One at a time for an order: the buyer must not pay twice.
    "UNIQUE INDEX x402_settling ON x402_settlements (intent_id) WHERE state = 'settling'",
    "INDEX x402_of_intent ON x402_settlements (intent_id)",
    "INDEX x402_due ON x402_settlements (chain_id, next_at) WHERE state = 'settling'",
    "UNIQUE INDEX intents_x402_keys ON payment_intents (idempotency_digest)"
    " WHERE idempotency_digest IS NOT NULL",
    "INDEX intents_x402_unpaid ON payment_intents (ticket_type_id, status, x402, quantity)"
    " WHERE x402 = TRUE",
)


def up(migrator: SchemaMigrator, db: Database) -> None:
    for table, columns in COLUMNS.items():
        for column in columns:
            db.execute_sql(f"ALTER TABLE {table} ADD COLUMN {column}")
    db.execute_sql(f"CREATE TABLE x402_settlements ({TABLE})")
    for index in INDEXES:
        db.execute_sql(f"CREATE {index}")


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("DROP TABLE x402_settlements")
    db.execute_sql("DROP INDEX intents_x402_keys")
    db.execute_sql("DROP INDEX intents_x402_unpaid")
    for table, columns in COLUMNS.items():
        for column in columns:
            db.execute_sql(f"ALTER TABLE {table} DROP COLUMN {column.split()[0]}")
