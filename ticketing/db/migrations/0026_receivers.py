"""Wallets of an ordinary address, changes of wallets that wait, and collections."""

from datetime import UTC, datetime

from peewee import Database
from playhouse.migrate import SchemaMigrator

COLUMNS = {
    "wallets": (
        "tenant_id TEXT REFERENCES tenants (id)",
        "owner TEXT",
        "gathering TEXT",
        "secret TEXT",
        "contract_version INTEGER",
        "chain_ids TEXT",
        "code_on TEXT",
        "no_code_on TEXT",
        "unchecked_chains TEXT",
        "is_exchange BOOLEAN NOT NULL DEFAULT FALSE",
        "least_collected BIGINT",
        "credited_at TIMESTAMPTZ",
        "recovery_index BIGINT",
    ),
    "chains": ("has_receivers BOOLEAN",),
    "members": ("admin_since TIMESTAMPTZ",),
}
TABLES = {
    "pending_wallets": """
        tenant_id TEXT PRIMARY KEY REFERENCES tenants (id),
        xpub TEXT,
        owner TEXT,
        chain_ids TEXT,
        code_on TEXT,
        no_code_on TEXT,
        is_exchange BOOLEAN NOT NULL DEFAULT FALSE,
        least_collected BIGINT,
        secret TEXT,
        next_index BIGINT,
        asked_by TEXT NOT NULL,
        asked_at TIMESTAMPTZ NOT NULL,
        effective_at TIMESTAMPTZ NOT NULL
    """,
    "collections": """
        id TEXT PRIMARY KEY,
        intent_id TEXT NOT NULL REFERENCES payment_intents (id),
        chain_id BIGINT NOT NULL,
        token_address TEXT NOT NULL,
        tx_hash TEXT NOT NULL,
        log_index INTEGER NOT NULL,
        block_number BIGINT NOT NULL,
        block_hash TEXT NOT NULL,
        block_time TIMESTAMPTZ NOT NULL,
        recipient TEXT NOT NULL,
        amount BIGINT NOT NULL,
        dust BIGINT NOT NULL DEFAULT 0,
        canonical BOOLEAN NOT NULL,
        seen_at TIMESTAMPTZ NOT NULL,
        UNIQUE (chain_id, tx_hash, log_index)
    """,
}
INDEXES = (
    "UNIQUE INDEX wallets_owner ON wallets (tenant_id, owner) WHERE owner IS NOT NULL",
    "UNIQUE INDEX wallets_secret ON wallets (secret) WHERE secret IS NOT NULL",
    "INDEX wallets_gathering ON wallets (gathering) WHERE gathering IS NOT NULL",
    "INDEX wallets_unchecked ON wallets (id) WHERE unchecked_chains <> ''",
    "INDEX pending_wallets_due ON pending_wallets (effective_at)",
    "INDEX collections_intent ON collections (intent_id)",
    "INDEX collections_block ON collections (chain_id, block_number) WHERE canonical",
)


def up(migrator: SchemaMigrator, db: Database) -> None:
    for table, columns in COLUMNS.items():
        for column in columns:
            db.execute_sql(f"ALTER TABLE {table} ADD COLUMN {column}")
    for table, definition in TABLES.items():
        db.execute_sql(f"CREATE TABLE {table} ({definition})")
    for index in INDEXES:
        db.execute_sql(f"CREATE {index}")
    # Since when is not known. A member who is an administrator for too short a time cannot change
    # the wallet at once, so the time counts from now.
    now = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    is_admin = "role = 'admin' AND password_hash IS NOT NULL"
    db.execute_sql(f"UPDATE members SET admin_since = {db.param} WHERE {is_admin}", [now])


def down(migrator: SchemaMigrator, db: Database) -> None:
    for index in ("wallets_owner", "wallets_secret", "wallets_gathering", "wallets_unchecked"):
        db.execute_sql(f"DROP INDEX {index}")
    for table in reversed(TABLES):
        db.execute_sql(f"DROP TABLE {table}")
    for table, columns in COLUMNS.items():
        for column in reversed(columns):
            db.execute_sql(f"ALTER TABLE {table} DROP COLUMN {column.split()[0]}")
