"""Add pending refunds, honoured late transfers, and how far an address was searched."""

from peewee import Database, PostgresqlDatabase
from playhouse.migrate import SchemaMigrator

INDEXES = (
    "intents_refund_pending ON payment_intents (chain_id, id) WHERE refund_pending > 0",
    "intents_to_search ON payment_intents (chain_id, id) WHERE search_to IS NOT NULL",
    "intents_canceled ON payment_intents (chain_id, ended_at) WHERE status = 'canceled'",
    "refunds_of_block ON refunds (chain_id, block_number)",
)


def up(migrator: SchemaMigrator, db: Database) -> None:
    instant = "TIMESTAMPTZ" if isinstance(db, PostgresqlDatabase) else "TEXT"
    for table, column in (
        ("payment_intents", "refund_pending BIGINT NOT NULL DEFAULT 0"),
        ("payment_intents", f"ended_at {instant}"),
        ("payment_intents", "checked_block BIGINT"),
        ("payment_intents", "search_to BIGINT"),
        ("payment_intents", "swept_surplus TEXT"),
        ("payments", "honoured BOOLEAN"),
        ("refunds", "block_number BIGINT"),
        ("refunds", "block_hash TEXT"),
        ("refunds", "canonical BOOLEAN NOT NULL DEFAULT TRUE"),
    ):
        db.execute_sql(f"ALTER TABLE {table} ADD COLUMN {column}")
    db.execute_sql(
        "UPDATE payment_intents SET ended_at = expires_at WHERE status IN ('expired', 'canceled')"
    )
    # Expired orders have not accepted these payments so far. They stay due as refunds.
    db.execute_sql(
        "UPDATE payments SET honoured = FALSE WHERE canonical AND intent_id IN"
        " (SELECT id FROM payment_intents WHERE status = 'expired')"
    )
    # The worker works out how much of it is deep enough.
    db.execute_sql(
        "UPDATE payment_intents SET refund_pending = refund_due WHERE refund_due > 0 AND EXISTS"
        " (SELECT 1 FROM payments JOIN chains ON chains.chain_id = payments.chain_id"
        " WHERE payments.intent_id = payment_intents.id AND payments.canonical"
        " AND payments.block_number + payment_intents.required_confirmations - 1"
        " > chains.block_number)"
    )
    for index in INDEXES:
        db.execute_sql(f"CREATE INDEX {index}")


def down(migrator: SchemaMigrator, db: Database) -> None:
    for index in INDEXES:
        db.execute_sql(f"DROP INDEX {index.split()[0]}")
    for table, columns in (
        (
            "payment_intents",
            ("refund_pending", "ended_at", "checked_block", "search_to", "swept_surplus"),
        ),
        ("payments", ("honoured",)),
        ("refunds", ("block_number", "block_hash", "canonical")),
    ):
        for column in columns:
            db.execute_sql(f"ALTER TABLE {table} DROP COLUMN {column}")
