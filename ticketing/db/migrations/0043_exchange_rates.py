"""Store the last exchange rate, for the pages that say what an order costs in euros."""

from peewee import Database
from playhouse.migrate import SchemaMigrator


def up(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql(
        """
        CREATE TABLE exchange_rates (
            currency TEXT PRIMARY KEY,
            micro_dollars BIGINT NOT NULL,
            published_on TIMESTAMPTZ NOT NULL,
            read_at TIMESTAMPTZ NOT NULL
        )
        """
    )


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("DROP TABLE exchange_rates")
