"""Add the previous secret of an API key, and the SECRET_KEY of each digest."""

from peewee import Database
from playhouse.migrate import SchemaMigrator

COLUMNS = (
    "digest_key TEXT",
    "generation INTEGER NOT NULL DEFAULT 0",
    "previous_digest TEXT",
    "previous_digest_key TEXT",
    "previous_expires_at TIMESTAMPTZ",
)


def up(migrator: SchemaMigrator, db: Database) -> None:
    for column in COLUMNS:
        db.execute_sql(f"ALTER TABLE api_keys ADD COLUMN {column}")


def down(migrator: SchemaMigrator, db: Database) -> None:
    for column in COLUMNS:
        db.execute_sql(f"ALTER TABLE api_keys DROP COLUMN {column.split()[0]}")
