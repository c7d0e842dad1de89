"""Store several networks of a ticket type, and on which of them an order could be paid."""

from peewee import Database
from playhouse.migrate import SchemaMigrator

COLUMNS = {"ticket_types": "chain_ids", "payment_intents": "networks"}


def up(migrator: SchemaMigrator, db: Database) -> None:
    for table, column in COLUMNS.items():
        db.execute_sql(f"ALTER TABLE {table} ADD COLUMN {column} TEXT")


def down(migrator: SchemaMigrator, db: Database) -> None:
    for table, column in COLUMNS.items():
        db.execute_sql(f"ALTER TABLE {table} DROP COLUMN {column}")
