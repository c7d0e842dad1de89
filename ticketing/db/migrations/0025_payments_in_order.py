"""Index the payments of an order in the order of the chain: strangers can send thousands."""

from peewee import Database
from playhouse.migrate import SchemaMigrator

INDEX = "payments_in_order ON payments (intent_id, block_number, log_index, id)"


def up(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql(f"CREATE INDEX {INDEX}")


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql(f"DROP INDEX {INDEX.split()[0]}")
