"""Which account has proven that it made a payment, and what pages say about who pays.

Payments of signed transfers (x402) from before are looked at once.
"""

from peewee import Database
from playhouse.migrate import SchemaMigrator

REPORTS = """
    CREATE TABLE payment_reports (
        intent_id TEXT NOT NULL REFERENCES payment_intents (id),
        chain_id BIGINT NOT NULL,
        tx_hash TEXT NOT NULL,
        account TEXT NOT NULL,
        told_at TIMESTAMPTZ NOT NULL,
        PRIMARY KEY (intent_id, chain_id, tx_hash, account)
    )
"""
COLUMNS = (
    "proven TEXT CHECK (proven IN ('signer', 'wallet'))",
    "proof_due_at TIMESTAMPTZ",
)
INDEXES = (
    "payments_to_prove ON payments (chain_id, proof_due_at) WHERE proof_due_at IS NOT NULL",
    "payments_of_sender ON payments (sender, block_time)",
)
SIGNED_BEFORE = """
    UPDATE payments SET proof_due_at = seen_at
    WHERE canonical AND intent_id IN (SELECT intent_id FROM x402_settlements) AND EXISTS (
        SELECT 1 FROM x402_settlements AS signed
        WHERE signed.intent_id = payments.intent_id AND signed.chain_id = payments.chain_id
        AND signed.payer = payments.sender
    )
"""


def up(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql(REPORTS)
    for column in COLUMNS:
        db.execute_sql(f"ALTER TABLE payments ADD COLUMN {column}")
    db.execute_sql(SIGNED_BEFORE)
    for index in INDEXES:
        db.execute_sql(f"CREATE INDEX {index}")


def down(migrator: SchemaMigrator, db: Database) -> None:
    for index in INDEXES:
        db.execute_sql(f"DROP INDEX {index.split()[0]}")
    for column in COLUMNS:
        db.execute_sql(f"ALTER TABLE payments DROP COLUMN {column.split()[0]}")
    db.execute_sql("DROP TABLE payment_reports")
