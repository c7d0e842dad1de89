"""Store who decided where a refund goes, and from when that counts.

Statements from before count since they were made. `waits`: a statement that doesn't count yet. Then
`effective_at` is when it will; NULL if only a button in a mail can make it count.
"""

from peewee import Database
from playhouse.migrate import SchemaMigrator

COLUMNS = (
    "source TEXT NOT NULL DEFAULT 'stated'"
    " CHECK (source IN ('signer', 'wallet', 'stated', 'entered'))",
    "waits BOOLEAN NOT NULL DEFAULT FALSE",
    "effective_at TIMESTAMPTZ",
    "ended_at TIMESTAMPTZ",
    "confirm_salt TEXT",
    "told_at TIMESTAMPTZ",
    "decided_by TEXT",
    "cautions TEXT NOT NULL DEFAULT ''",
    "warned_at TIMESTAMPTZ",
)
INDEX = "refund_addresses_waiting ON refund_addresses (effective_at, intent_id) WHERE waits"


def up(migrator: SchemaMigrator, db: Database) -> None:
    for column in COLUMNS:
        db.execute_sql(f"ALTER TABLE refund_addresses ADD COLUMN {column}")
    db.execute_sql("UPDATE refund_addresses SET effective_at = stated_at")
    db.execute_sql(f"CREATE INDEX {INDEX}")
    db.execute_sql(
        "ALTER TABLE payment_intents ADD COLUMN payees_version INTEGER NOT NULL DEFAULT 0"
    )
    db.execute_sql(
        "UPDATE payment_intents SET payees_version = 1"
        " WHERE id IN (SELECT intent_id FROM refund_addresses)"
    )


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("ALTER TABLE payment_intents DROP COLUMN payees_version")
    db.execute_sql(f"DROP INDEX {INDEX.split()[0]}")
    for column in reversed(COLUMNS):
        db.execute_sql(f"ALTER TABLE refund_addresses DROP COLUMN {column.split()[0]}")
