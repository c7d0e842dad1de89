"""Until when a chain is read at full speed, because somebody has just signed something."""

from peewee import Database
from playhouse.migrate import SchemaMigrator


def up(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("ALTER TABLE chains ADD COLUMN awaited_until TIMESTAMPTZ")


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("ALTER TABLE chains DROP COLUMN awaited_until")
