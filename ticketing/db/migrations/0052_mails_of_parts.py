"""Find the orders of which a part was paid, and note of which part a mail tells."""

from peewee import Database
from playhouse.migrate import SchemaMigrator

INDEX = (
    "intents_paid_in_part ON payment_intents (id)"
    " WHERE status = 'awaiting_payment' AND amount_received > 0"
)


def up(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("ALTER TABLE mails ADD COLUMN amount BIGINT")
    db.execute_sql(f"CREATE INDEX {INDEX}")


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql(f"DROP INDEX {INDEX.split()[0]}")
    db.execute_sql("ALTER TABLE mails DROP COLUMN amount")
