"""Whether the facilitator of a chain can be used, as the worker last found."""

from peewee import Database
from playhouse.migrate import SchemaMigrator

COLUMNS = ("facilitator_refusal TEXT", "facilitator_asked_at TIMESTAMPTZ")


def up(migrator: SchemaMigrator, db: Database) -> None:
    for column in COLUMNS:
        db.execute_sql(f"ALTER TABLE chains ADD COLUMN {column}")


def down(migrator: SchemaMigrator, db: Database) -> None:
    for column in COLUMNS:
        db.execute_sql(f"ALTER TABLE chains DROP COLUMN {column.split()[0]}")
