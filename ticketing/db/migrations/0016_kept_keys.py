"""Say of a stored response which order and which client caused it, to count those of a day."""

from peewee import Database
from playhouse.migrate import SchemaMigrator

COLUMNS = ("order_id", "client", "client_site")


def up(migrator: SchemaMigrator, db: Database) -> None:
    for column in COLUMNS:
        db.execute_sql(f"ALTER TABLE idempotency_keys ADD COLUMN {column} TEXT")
        db.execute_sql(
            f"CREATE INDEX idempotency_keys_by_{column} ON idempotency_keys ({column}, created_at)"
            f" WHERE {column} IS NOT NULL"
        )


def down(migrator: SchemaMigrator, db: Database) -> None:
    for column in COLUMNS:
        db.execute_sql(f"DROP INDEX idempotency_keys_by_{column}")
        db.execute_sql(f"ALTER TABLE idempotency_keys DROP COLUMN {column}")
