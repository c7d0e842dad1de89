"""Store pictures of events and logos of tenants."""

from peewee import Database, PostgresqlDatabase
from playhouse.migrate import SchemaMigrator

COLUMNS = {"events": "image_digest", "tenants": "logo_digest"}


def up(migrator: SchemaMigrator, db: Database) -> None:
    blob = "BYTEA" if isinstance(db, PostgresqlDatabase) else "BLOB"
    db.execute_sql(
        f"""
        CREATE TABLE images (
            digest TEXT PRIMARY KEY,
            tenant_id TEXT NOT NULL REFERENCES tenants (id),
            type TEXT NOT NULL,
            width INTEGER NOT NULL,
            height INTEGER NOT NULL,
            bytes {blob} NOT NULL,
            bytes_960 {blob},
            bytes_480 {blob},
            bytes_share {blob},
            created_at TIMESTAMPTZ NOT NULL
        )
        """
    )
    for table, column in COLUMNS.items():
        db.execute_sql(f"ALTER TABLE {table} ADD COLUMN {column} TEXT REFERENCES images (digest)")
        db.execute_sql(
            f"CREATE INDEX {table}_by_{column} ON {table} ({column}) WHERE {column} IS NOT NULL"
        )


def down(migrator: SchemaMigrator, db: Database) -> None:
    for table, column in COLUMNS.items():
        db.execute_sql(f"DROP INDEX {table}_by_{column}")
        db.execute_sql(f"ALTER TABLE {table} DROP COLUMN {column}")
    db.execute_sql("DROP TABLE images")
