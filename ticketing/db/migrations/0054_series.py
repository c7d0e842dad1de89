"""Series: events that belong together, and what their page says."""

from peewee import Database
from playhouse.migrate import SchemaMigrator

TABLE = """
    CREATE TABLE series (
        tenant_id TEXT NOT NULL REFERENCES tenants (id),
        slug TEXT NOT NULL,
        title TEXT,
        description TEXT NOT NULL,
        PRIMARY KEY (tenant_id, slug)
    )
"""
INDEX = (
    "events_of_series ON events (tenant_id, series, status, start_at, id) WHERE series IS NOT NULL"
)


def up(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql(TABLE)
    db.execute_sql("ALTER TABLE events ADD COLUMN series TEXT")
    db.execute_sql(f"CREATE INDEX {INDEX}")


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql(f"DROP INDEX {INDEX.split()[0]}")
    db.execute_sql("ALTER TABLE events DROP COLUMN series")
    db.execute_sql("DROP TABLE series")
