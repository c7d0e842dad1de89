"""Index refunds by their amount: strangers can make many tiny ones."""

from peewee import Database
from playhouse.migrate import SchemaMigrator

# The amounts are negated, so the largest comes first. With the amounts themselves, SQLite would
# also choose these indexes for lists in another order, which have a condition on the amount.
INDEXES = (
    "intents_to_refund_by_amount ON payment_intents"
    " (LOWER(tenant_id), (refund_pending - refund_due), id) WHERE refund_due > 0",
    "intents_waived_by_amount ON payment_intents (LOWER(tenant_id), (0 - waived), id)"
    " WHERE refund_due = 0 AND waived > 0",
    "intents_refunded_by_amount ON payment_intents (LOWER(tenant_id), (0 - refunded), id)"
    " WHERE refund_due = 0 AND waived = 0 AND refunded > 0",
)


def up(migrator: SchemaMigrator, db: Database) -> None:
    for index in INDEXES:
        db.execute_sql(f"CREATE INDEX {index}")


def down(migrator: SchemaMigrator, db: Database) -> None:
    for index in INDEXES:
        db.execute_sql(f"DROP INDEX {index.split()[0]}")
