"""The box office: devices at the door that sell."""

from peewee import Database
from playhouse.migrate import SchemaMigrator

INDEX = "orders_of_device ON payment_intents (sold_by) WHERE sold_by IS NOT NULL"


def up(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("ALTER TABLE door_devices ADD COLUMN sells BOOLEAN NOT NULL DEFAULT FALSE")
    db.execute_sql("ALTER TABLE payment_intents ADD COLUMN sold_by TEXT")
    db.execute_sql(f"CREATE INDEX {INDEX}")


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql(f"DROP INDEX {INDEX.split()[0]}")
    db.execute_sql("ALTER TABLE payment_intents DROP COLUMN sold_by")
    db.execute_sql("ALTER TABLE door_devices DROP COLUMN sells")
