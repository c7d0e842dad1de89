"""Two secrets of an API key while it is rotated; under which SECRET_KEY each digest was made."""

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
