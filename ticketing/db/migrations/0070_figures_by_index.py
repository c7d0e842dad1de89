"""Widen indexes, so that the figures of an organizer with many orders are added up from these.

What SQLite finds in the condition of a partial index it reads from the table, unless the index has
the column too.
"""

from peewee import Database
from playhouse.migrate import SchemaMigrator

_OF_TENANT = "money_of_tenant ON payment_intents (tenant_id, chain_id, token_address, wallet_id"
_SUMMED = "amount_received, refunded, waived, refund_due"
_HAS_MONEY = "WHERE amount_received > 0 OR refunded > 0"
_VOID = "admissions_void ON admissions (tenant_id, id"
_REDEEMED = "admissions_of_event_redeemed ON admissions (event_id, id"
_GUESTS = "guests_of_event ON admissions (event_id, id"

REPLACED = (
    f"{_OF_TENANT}, ended_at, status, {_SUMMED}) {_HAS_MONEY}",
    "collections_intent ON collections (intent_id)",
    f"{_VOID}) WHERE status = 'void'",
    f"{_REDEEMED}) WHERE redeemed_at IS NOT NULL",
    f"{_GUESTS}) WHERE intent_id IS NULL",
)
INDEXES = (
    # In the order of the ids: the collections of orders that follow each other are close together.
    f"{_OF_TENANT}, id, status, ended_at, {_SUMMED}) {_HAS_MONEY}",
    "collections_intent ON collections (intent_id, stray, canonical, amount)",
    f"{_VOID}, voided_at, intent_id, status) WHERE status = 'void'",
    f"{_REDEEMED}, ticket_type_id, redeemed_at) WHERE redeemed_at IS NOT NULL",
    f"{_GUESTS}, status, ticket_type_id, intent_id) WHERE intent_id IS NULL",
)


def up(migrator: SchemaMigrator, db: Database) -> None:
    _exchange(db, INDEXES)


def down(migrator: SchemaMigrator, db: Database) -> None:
    _exchange(db, REPLACED)


def _exchange(db: Database, new: tuple[str, ...]) -> None:
    for index in new:
        db.execute_sql(f"DROP INDEX {index.split()[0]}")
        db.execute_sql(f"CREATE INDEX {index}")
