"""What tells that a public page has changed; indexes that a growing database asks for."""

from peewee import Database
from playhouse.migrate import SchemaMigrator

INDEXES = (
    "intents_deep ON payment_intents (chain_id, paid_block)"
    " WHERE status IN ('processing', 'reversed')",
    "intents_unswept ON payment_intents (chain_id, watch_until)"
    " WHERE swept_at IS NULL AND watch_until IS NOT NULL",
)


def up(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("ALTER TABLE tenants ADD COLUMN revision BIGINT NOT NULL DEFAULT 0")
    db.execute_sql("DROP INDEX intents_processing")
    for index in INDEXES:
        db.execute_sql(f"CREATE INDEX {index}")


def down(migrator: SchemaMigrator, db: Database) -> None:
    for index in INDEXES:
        db.execute_sql(f"DROP INDEX {index.split()[0]}")
    db.execute_sql(
        "CREATE INDEX intents_processing ON payment_intents (chain_id, paid_block)"
        " WHERE status = 'processing'"
    )
    db.execute_sql("ALTER TABLE tenants DROP COLUMN revision")
