"""Index what orders received, kept and owe, for the figures of an organizer."""

from peewee import Database
from playhouse.migrate import SchemaMigrator

# With all columns of the figures, the rows are not read. Orders that were never paid are not here.
_SUMMED = "status, amount_received, refunded, waived, refund_due"
_HAS_MONEY = "WHERE amount_received > 0 OR refunded > 0"
INDEXES = (
    f"money_of_event ON payment_intents (event_id, confirmed_at, {_SUMMED}) {_HAS_MONEY}",
    "money_of_tenant ON payment_intents (tenant_id, chain_id, token_address, wallet_id, ended_at,"
    f" {_SUMMED}) {_HAS_MONEY}",
)


def up(migrator: SchemaMigrator, db: Database) -> None:
    for index in INDEXES:
        db.execute_sql(f"CREATE INDEX {index}")


def down(migrator: SchemaMigrator, db: Database) -> None:
    for index in INDEXES:
        db.execute_sql(f"DROP INDEX {index.split()[0]}")
