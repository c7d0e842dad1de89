"""Whether an organizer said that the contract at a wallet's address is theirs.

Those of before said so with each network: it stays as it was.
"""

from peewee import Database
from playhouse.migrate import SchemaMigrator

TABLES = ("wallets", "pending_wallets")
COLUMN = "contract_is_mine BOOLEAN NOT NULL DEFAULT FALSE"


def up(migrator: SchemaMigrator, db: Database) -> None:
    for table in TABLES:
        db.execute_sql(f"ALTER TABLE {table} ADD COLUMN {COLUMN}")
        db.execute_sql(f"UPDATE {table} SET contract_is_mine = TRUE WHERE code_on <> ''")


def down(migrator: SchemaMigrator, db: Database) -> None:
    for table in TABLES:
        db.execute_sql(f"ALTER TABLE {table} DROP COLUMN {COLUMN.split()[0]}")
