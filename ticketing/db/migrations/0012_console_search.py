"""Let the console find an order by its buyer's email address, and what happened to an order."""

from peewee import Database, PostgresqlDatabase
from playhouse.migrate import SchemaMigrator

INDEXES = (
    "intents_of_buyer ON payment_intents (tenant_id, LOWER(buyer_email), id)"
    " WHERE buyer_email IS NOT NULL",
    "notifications_of_intent ON notifications (intent_id, position) WHERE intent_id IS NOT NULL",
)


def up(migrator: SchemaMigrator, db: Database) -> None:
    of_data = "json_extract(data, '$.intent_id')"
    if isinstance(db, PostgresqlDatabase):
        of_data = "data::json ->> 'intent_id'"
    db.execute_sql("ALTER TABLE notifications ADD COLUMN intent_id TEXT")
    db.execute_sql(f"UPDATE notifications SET intent_id = {of_data}")
    for index in INDEXES:
        db.execute_sql(f"CREATE INDEX {index}")


def down(migrator: SchemaMigrator, db: Database) -> None:
    for index in INDEXES:
        db.execute_sql(f"DROP INDEX {index.split()[0]}")
    db.execute_sql("ALTER TABLE notifications DROP COLUMN intent_id")
