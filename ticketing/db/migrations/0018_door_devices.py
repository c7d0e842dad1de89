"""Count what a door device stores, and what it redeems by id in a minute."""

from peewee import Database
from playhouse.migrate import SchemaMigrator

COLUMNS = (
    "scans INTEGER NOT NULL DEFAULT 0",
    "by_id_minute BIGINT NOT NULL DEFAULT 0",
    "by_id_scans INTEGER NOT NULL DEFAULT 0",
)


def up(migrator: SchemaMigrator, db: Database) -> None:
    for column in COLUMNS:
        db.execute_sql(f"ALTER TABLE door_devices ADD COLUMN {column}")


def down(migrator: SchemaMigrator, db: Database) -> None:
    for column in COLUMNS:
        db.execute_sql(f"ALTER TABLE door_devices DROP COLUMN {column.split()[0]}")
