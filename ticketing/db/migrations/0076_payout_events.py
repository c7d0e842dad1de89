"""Keep what was listed apart from what was paid, and which payments a second node has seen.

`listed_payouts` has a row for each payer, id, payee and amount. What the chain shows of an id is in
`payout_events`. `payouts`, which had both, stays without rows: a worker of the version before reads
it at each look.
"""

from peewee import Database
from playhouse.migrate import SchemaMigrator

_LISTED_COLUMNS = (
    "payer, payment_id, recipient, atomic_amount, tenant_id, intent_id, chain_id, token_address,"
    " amount, created_at, valid_before"
)
_EVENT_COLUMNS = (
    "payer, payment_id, tenant_id, intent_id, chain_id, token_address, tx_hash, log_index,"
    " transfer_log, block_number, block_hash, block_time, paid_to, paid_amount, waits, unbooked,"
    " tried_at"
)
TABLES = {
    "listed_payouts": """
        payer TEXT NOT NULL,
        payment_id TEXT NOT NULL,
        recipient TEXT NOT NULL,
        atomic_amount TEXT NOT NULL,
        tenant_id TEXT NOT NULL REFERENCES tenants (id),
        intent_id TEXT NOT NULL REFERENCES payment_intents (id),
        chain_id BIGINT NOT NULL,
        token_address TEXT NOT NULL,
        amount BIGINT NOT NULL,
        created_at TIMESTAMPTZ NOT NULL,
        valid_before TIMESTAMPTZ NOT NULL,
        PRIMARY KEY (payer, payment_id, recipient, atomic_amount)
    """,
    "payout_events": """
        payer TEXT NOT NULL,
        payment_id TEXT NOT NULL,
        tenant_id TEXT NOT NULL REFERENCES tenants (id),
        intent_id TEXT NOT NULL REFERENCES payment_intents (id),
        chain_id BIGINT NOT NULL,
        token_address TEXT NOT NULL,
        tx_hash TEXT NOT NULL,
        log_index INTEGER NOT NULL,
        transfer_log INTEGER NOT NULL,
        block_number BIGINT NOT NULL,
        block_hash TEXT NOT NULL,
        block_time TIMESTAMPTZ NOT NULL,
        paid_to TEXT NOT NULL,
        paid_amount TEXT NOT NULL,
        restored BOOLEAN NOT NULL DEFAULT FALSE,
        waits BOOLEAN NOT NULL DEFAULT TRUE,
        unbooked TEXT,
        tried_at TIMESTAMPTZ,
        PRIMARY KEY (payer, payment_id)
    """,
    "passed_ids": """
        payer TEXT NOT NULL,
        payment_id TEXT NOT NULL,
        intent_id TEXT NOT NULL REFERENCES payment_intents (id),
        reason TEXT NOT NULL,
        created_at TIMESTAMPTZ NOT NULL,
        PRIMARY KEY (payer, payment_id)
    """,
}
INDEXES = (
    # It serves the lists of an order, too.
    "listed_payouts_of_account ON listed_payouts (intent_id, chain_id, valid_before)",
    "listed_payouts_valid ON listed_payouts (chain_id, valid_before)",
    "listed_payouts_id ON listed_payouts (payment_id)",
    "payout_events_of_intent ON payout_events (intent_id)",
    "payout_events_of_block ON payout_events (chain_id, block_number)",
    "payout_events_waiting ON payout_events (chain_id, payment_id) WHERE waits",
    "payout_events_unbooked ON payout_events (tenant_id, chain_id, block_number)"
    " WHERE unbooked IS NOT NULL",
    "passed_ids_of_intent ON passed_ids (intent_id)",
    "payments_unwitnessed ON payments (chain_id, block_number)"
    " WHERE canonical AND witnessed IS NULL",
)


def up(migrator: SchemaMigrator, db: Database) -> None:
    for table, definition in TABLES.items():
        db.execute_sql(f"CREATE TABLE {table} ({definition})")
    db.execute_sql(
        f"INSERT INTO payout_events ({_EVENT_COLUMNS}) SELECT {_EVENT_COLUMNS} FROM payouts"
        # An event without a Transfer of the order's token paid nothing.
        " WHERE tx_hash IS NOT NULL AND transfer_log IS NOT NULL"
        " AND COALESCE(unbooked, '') NOT IN ('no_transfer', 'other_token')"
    )
    # Whether it matches what was listed is found out again: the buyer may have replaced the address
    # since, and it counts all the same.
    db.execute_sql("UPDATE payout_events SET unbooked = NULL WHERE unbooked = 'other_payee'")
    db.execute_sql(
        f"INSERT INTO listed_payouts ({_LISTED_COLUMNS}) SELECT {_LISTED_COLUMNS} FROM payouts"
    )
    db.execute_sql("DELETE FROM payouts")
    db.execute_sql("ALTER TABLE payments ADD COLUMN witnessed BOOLEAN")
    db.execute_sql("ALTER TABLE refunds ADD COLUMN sender TEXT")
    for index in INDEXES:
        db.execute_sql(f"CREATE INDEX {index}")


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("DROP INDEX payments_unwitnessed")
    db.execute_sql("DELETE FROM payouts")
    # The version before keeps one payment of each id: the one that can be paid last.
    db.execute_sql(
        f"INSERT INTO payouts ({_LISTED_COLUMNS}, waits)"
        f" SELECT {_LISTED_COLUMNS}, FALSE FROM listed_payouts AS listed"
        " WHERE NOT EXISTS (SELECT 1 FROM listed_payouts AS other"
        " WHERE other.payer = listed.payer AND other.payment_id = listed.payment_id"
        " AND (other.valid_before, other.recipient, other.atomic_amount)"
        " > (listed.valid_before, listed.recipient, listed.atomic_amount))"
    )
    seen = [
        "tx_hash",
        "log_index",
        "transfer_log",
        "block_number",
        "block_hash",
        "block_time",
        "paid_to",
        "paid_amount",
        "waits",
        "unbooked",
        "tried_at",
    ]
    same = "e.payer = payouts.payer AND e.payment_id = payouts.payment_id"
    changes = ", ".join(
        f"{name} = (SELECT {name} FROM payout_events AS e WHERE {same})" for name in seen
    )
    db.execute_sql(
        f"UPDATE payouts SET {changes} WHERE EXISTS (SELECT 1 FROM payout_events AS e WHERE {same})"
    )
    db.execute_sql("UPDATE payouts SET unbooked = 'other_payee' WHERE unbooked = 'other_payment'")
    # A payment that waits has a reason there.
    db.execute_sql("UPDATE payouts SET unbooked = 'nothing_due' WHERE waits AND unbooked IS NULL")
    for table in reversed(TABLES):
        db.execute_sql(f"DROP TABLE {table}")
    db.execute_sql("ALTER TABLE refunds DROP COLUMN sender")
    db.execute_sql("ALTER TABLE payments DROP COLUMN witnessed")
