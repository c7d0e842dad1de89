"""Remember which orders are held longer, because their buyer pays from an exchange."""

from peewee import Database
from playhouse.migrate import SchemaMigrator


def up(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql(
        "ALTER TABLE payment_intents ADD COLUMN hold_extended BOOLEAN NOT NULL DEFAULT FALSE"
    )


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("ALTER TABLE payment_intents DROP COLUMN hold_extended")
