"""Keep descriptions as HTML and as plain text, beside the Markdown.

The version before changes a description, and leaves these as they are. So the HTML begins with a
digest of the text that it was made of.
"""

from peewee import Database
from playhouse.migrate import SchemaMigrator

COLUMNS = ("description_html", "description_plain")


def up(migrator: SchemaMigrator, db: Database) -> None:
    for table in ("events", "series"):
        for column in COLUMNS:
            db.execute_sql(f"ALTER TABLE {table} ADD COLUMN {column} TEXT")
    db.execute_sql(
        "CREATE INDEX events_not_converted ON events (id) WHERE description_html IS NULL"
    )


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("DROP INDEX events_not_converted")
    for table in ("events", "series"):
        for column in COLUMNS:
            db.execute_sql(f"ALTER TABLE {table} DROP COLUMN {column}")
