"""Store after which block no node has the next one, since when, and where reading began again."""

from peewee import Database
from playhouse.migrate import SchemaMigrator

COLUMNS = ("gap_after BIGINT", "gap_seen_at TIMESTAMPTZ", "read_from BIGINT")


def up(migrator: SchemaMigrator, db: Database) -> None:
    for column in COLUMNS:
        db.execute_sql(f"ALTER TABLE chains ADD COLUMN {column}")


def down(migrator: SchemaMigrator, db: Database) -> None:
    for column in COLUMNS:
        db.execute_sql(f"ALTER TABLE chains DROP COLUMN {column.split()[0]}")
