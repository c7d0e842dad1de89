"""Index the refunds of stray accounts by their amount, as those of intents: see 0023."""

from peewee import Database
from playhouse.migrate import SchemaMigrator

INDEXES = (
    "strays_to_refund_by_amount ON stray_accounts"
    " (tenant_id, (refund_pending - refund_due), id) WHERE refund_due > 0",
    "strays_waived_by_amount ON stray_accounts (tenant_id, (0 - waived), id)"
    " WHERE refund_due = 0 AND waived > 0",
    "strays_refunded_by_amount ON stray_accounts (tenant_id, (0 - refunded), id)"
    " WHERE refund_due = 0 AND waived = 0 AND refunded > 0",
    "strays_of_tenant ON stray_accounts (tenant_id, chain_id, token_address)",
    # Without it, the lists of a chain that can be paid are read for each account.
    "payouts_of_account ON payouts (intent_id, chain_id, valid_before)",
)


def up(migrator: SchemaMigrator, db: Database) -> None:
    for index in INDEXES:
        db.execute_sql(f"CREATE INDEX {index}")


def down(migrator: SchemaMigrator, db: Database) -> None:
    for index in INDEXES:
        db.execute_sql(f"DROP INDEX {index.split()[0]}")
