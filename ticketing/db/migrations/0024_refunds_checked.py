"""Store whether the worker has compared the block of a refund once more."""

from peewee import Database
from playhouse.migrate import SchemaMigrator

INDEX = "refunds_to_check ON refunds (chain_id, id) WHERE canonical AND NOT checked"


def up(migrator: SchemaMigrator, db: Database) -> None:
    # Refunds of earlier versions are compared once, too.
    db.execute_sql("ALTER TABLE refunds ADD COLUMN checked BOOLEAN NOT NULL DEFAULT FALSE")
    db.execute_sql(f"CREATE INDEX {INDEX}")


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql(f"DROP INDEX {INDEX.split()[0]}")
    db.execute_sql("ALTER TABLE refunds DROP COLUMN checked")
