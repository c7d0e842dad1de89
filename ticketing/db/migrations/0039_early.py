"""Store whose orders may be confirmed early, after how many blocks, and which are not final yet.

Organizers of before keep what they have: their receivers of webhooks act on `intent.confirmed`.
"""

from peewee import Database
from playhouse.migrate import SchemaMigrator

COLUMNS = (
    ("tenants", "early_confirmation", "BOOLEAN NOT NULL DEFAULT FALSE"),
    ("payment_intents", "early_confirmations", "INTEGER"),
    ("payment_intents", "early", "BOOLEAN NOT NULL DEFAULT FALSE"),
)

INDEX = "intents_early ON payment_intents (chain_id, paid_block) WHERE early"


def up(migrator: SchemaMigrator, db: Database) -> None:
    for table, column, definition in COLUMNS:
        db.execute_sql(f"ALTER TABLE {table} ADD COLUMN {column} {definition}")
    db.execute_sql(f"CREATE INDEX {INDEX}")


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("DROP INDEX intents_early")
    for table, column, _ in reversed(COLUMNS):
        db.execute_sql(f"ALTER TABLE {table} DROP COLUMN {column}")
