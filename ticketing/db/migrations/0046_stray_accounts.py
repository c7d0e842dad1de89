"""Store what orders received on other networks, or in other tokens, than those they are paid in.

The version before adds up all payments of an order, on whatever chain. So while it may still serve,
nothing is looked for on other chains: for a day, if there were orders before.

`stray` of a payment, refund, waiver, refund address or collection is the id of such an account. It
is empty for what belongs to the order's own network: so it is in all rows of the version before.
"""

from datetime import timedelta

from peewee import Database
from playhouse.migrate import SchemaMigrator

from ticketing import clock
from ticketing.db.connection import is_sqlite
from ticketing.models.base import UtcDateTimeField

ROWS = ("payments", "refunds", "waivers", "refund_addresses", "collections")

INDEXES = {
    "strays_of_intent": "(intent_id)",
    "strays_of_address": "(chain_id, address)",
    "strays_to_refund": "(tenant_id, id) WHERE refund_due > 0",
    "strays_waived": "(tenant_id, id) WHERE refund_due = 0 AND waived > 0",
    "strays_refunded": "(tenant_id, id) WHERE refund_due = 0 AND waived = 0 AND refunded > 0",
    "strays_pending": "(chain_id) WHERE amount_received > amount_final",
    "strays_searched": "(chain_id) WHERE search_to IS NOT NULL",
    "strays_out_of_reach": "(chain_id) WHERE NOT in_reach",
}


def up(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql(
        """
        CREATE TABLE stray_accounts (
            id TEXT NOT NULL PRIMARY KEY,
            intent_id TEXT NOT NULL REFERENCES payment_intents (id),
            tenant_id TEXT NOT NULL,
            chain_id BIGINT NOT NULL,
            token_address TEXT NOT NULL,
            symbol TEXT,
            token_decimals INTEGER NOT NULL,
            required_confirmations INTEGER NOT NULL,
            early_confirmations INTEGER,
            address TEXT NOT NULL,
            is_option BOOLEAN NOT NULL,
            in_reach BOOLEAN NOT NULL,
            amount_received BIGINT NOT NULL DEFAULT 0,
            amount_final BIGINT NOT NULL DEFAULT 0,
            unassigned BIGINT NOT NULL DEFAULT 0,
            refund_due BIGINT NOT NULL DEFAULT 0,
            refund_pending BIGINT NOT NULL DEFAULT 0,
            refunded BIGINT NOT NULL DEFAULT 0,
            waived BIGINT NOT NULL DEFAULT 0,
            pending_block BIGINT,
            asked_back_at TIMESTAMPTZ,
            refund_address TEXT,
            refund_by_hand_at TIMESTAMPTZ,
            checked_block BIGINT,
            search_to BIGINT,
            swept_at TIMESTAMPTZ,
            swept_balance TEXT,
            swept_surplus TEXT,
            created_at TIMESTAMPTZ NOT NULL
        )
        """
    )
    for name, columns in INDEXES.items():
        db.execute_sql(f"CREATE INDEX {name} ON stray_accounts {columns}")
    for table in ROWS:
        db.execute_sql(f"ALTER TABLE {table} ADD COLUMN stray TEXT NOT NULL DEFAULT ''")
    db.execute_sql(
        "ALTER TABLE payment_intents ADD COLUMN strays_version INTEGER NOT NULL DEFAULT 0"
    )
    db.execute_sql("ALTER TABLE payment_intents ADD COLUMN moves INTEGER NOT NULL DEFAULT 0")
    db.execute_sql("CREATE TABLE stray_looks (begin_at TIMESTAMPTZ NOT NULL)")
    if db.execute_sql("SELECT 1 FROM payment_intents LIMIT 1").fetchone():
        begin_at = UtcDateTimeField().db_value(clock.now() + timedelta(days=1))
        mark = "?" if is_sqlite() else "%s"
        db.execute_sql(f"INSERT INTO stray_looks (begin_at) VALUES ({mark})", (begin_at,))
    db.execute_sql("ALTER TABLE chains ADD COLUMN strays_looked_at TIMESTAMPTZ")
    db.execute_sql("ALTER TABLE chains ADD COLUMN strays_block BIGINT")


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("ALTER TABLE chains DROP COLUMN strays_block")
    db.execute_sql("ALTER TABLE chains DROP COLUMN strays_looked_at")
    db.execute_sql("DROP TABLE stray_looks")
    db.execute_sql("ALTER TABLE payment_intents DROP COLUMN moves")
    db.execute_sql("ALTER TABLE payment_intents DROP COLUMN strays_version")
    for table in ROWS:
        db.execute_sql(f"ALTER TABLE {table} DROP COLUMN stray")
    db.execute_sql("DROP TABLE stray_accounts")
