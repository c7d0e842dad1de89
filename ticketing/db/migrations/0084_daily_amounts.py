"""What clients had in a day, where no row of another table can be counted.

The version before counts nothing there.
"""

from peewee import Database
from playhouse.migrate import SchemaMigrator

TABLE = """
    CREATE TABLE daily_amounts (
        what TEXT NOT NULL,
        client TEXT NOT NULL,
        began_at TIMESTAMPTZ NOT NULL,
        amount BIGINT NOT NULL,
        PRIMARY KEY (what, client)
    )
"""


def up(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql(TABLE)
    db.execute_sql("CREATE INDEX daily_amounts_by_time ON daily_amounts (began_at)")


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("DROP TABLE daily_amounts")
