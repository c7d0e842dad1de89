"""Keep what a mail was asked for by, so that a repeat of it is not sent again.

The version before writes no such digest: its mails count as no request that could be repeated.
"""

from peewee import Database
from playhouse.migrate import SchemaMigrator


def up(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("ALTER TABLE mails ADD COLUMN request_digest TEXT")
    db.execute_sql(
        "CREATE INDEX mails_of_request ON mails (request_digest, created_at)"
        " WHERE request_digest IS NOT NULL"
    )


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("DROP INDEX mails_of_request")
    db.execute_sql("ALTER TABLE mails DROP COLUMN request_digest")
