"""Reserve the first address of a wallet, 0/0, for its organizer. It is no longer issued."""

from peewee import Database
from playhouse.migrate import SchemaMigrator


def up(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("UPDATE wallets SET next_index = 1 WHERE next_index = 0")


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql(
        "UPDATE wallets SET next_index = 0 WHERE next_index = 1 AND NOT EXISTS"
        " (SELECT 1 FROM payment_intents WHERE payment_intents.wallet_id = wallets.id)"
    )
