"""Store which events are unlisted, tax ids of organizers, and who orders are billed to."""

from peewee import Database
from playhouse.migrate import SchemaMigrator


def up(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("ALTER TABLE events ADD COLUMN visibility TEXT NOT NULL DEFAULT 'public'")
    db.execute_sql("ALTER TABLE tenants ADD COLUMN tax_id TEXT")
    db.execute_sql(
        """
        CREATE TABLE billing (
            intent_id TEXT NOT NULL PRIMARY KEY REFERENCES payment_intents (id),
            name TEXT,
            address TEXT,
            tax_id TEXT,
            changed_at TIMESTAMPTZ NOT NULL
        )
        """
    )


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("DROP TABLE billing")
    db.execute_sql("ALTER TABLE tenants DROP COLUMN tax_id")
    db.execute_sql("ALTER TABLE events DROP COLUMN visibility")
