"""Store which indexes of wallets were skipped, and what addresses without an order hold."""

from peewee import Database
from playhouse.migrate import SchemaMigrator

TABLES = {
    "skipped_indexes": """
        wallet_id TEXT NOT NULL REFERENCES wallets (id),
        first BIGINT NOT NULL,
        next BIGINT NOT NULL,
        skipped_at TIMESTAMPTZ NOT NULL,
        PRIMARY KEY (wallet_id, first)
    """,
    "unassigned_money": """
        wallet_id TEXT NOT NULL REFERENCES wallets (id),
        chain_id BIGINT NOT NULL,
        token_address TEXT NOT NULL,
        address_index BIGINT NOT NULL,
        amount BIGINT NOT NULL,
        seen_at TIMESTAMPTZ NOT NULL,
        PRIMARY KEY (wallet_id, chain_id, token_address, address_index)
    """,
}


def up(migrator: SchemaMigrator, db: Database) -> None:
    for table, definition in TABLES.items():
        db.execute_sql(f"CREATE TABLE {table} ({definition})")


def down(migrator: SchemaMigrator, db: Database) -> None:
    for table in TABLES:
        db.execute_sql(f"DROP TABLE {table}")
