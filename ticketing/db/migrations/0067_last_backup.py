"""When the last good backup was made, for monitoring."""

from peewee import Database
from playhouse.migrate import SchemaMigrator

TABLE = """
    CREATE TABLE last_backup (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        finished_at TIMESTAMPTZ NOT NULL,
        bytes BIGINT NOT NULL
    )
"""


def up(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql(TABLE)


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("DROP TABLE last_backup")
