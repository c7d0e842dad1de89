"""Store how much may be missing of a payment: the setting of a tenant, and what each order got.

The index has only orders with a tolerance, for what was forgiven in a month.
"""

from peewee import Database
from playhouse.migrate import SchemaMigrator

COLUMNS = {
    "tenants": {
        "payment_tolerance_percent": "INTEGER NOT NULL DEFAULT 0",
        "payment_tolerance_most": "BIGINT NOT NULL DEFAULT 1500000",
    },
    "payment_intents": {"tolerance": "BIGINT NOT NULL DEFAULT 0"},
}


def up(migrator: SchemaMigrator, db: Database) -> None:
    for table, columns in COLUMNS.items():
        for column, definition in columns.items():
            db.execute_sql(f"ALTER TABLE {table} ADD COLUMN {column} {definition}")
    db.execute_sql(
        "CREATE INDEX forgiven_of_tenant ON payment_intents (tenant_id, confirmed_at)"
        " WHERE tolerance > 0"
    )


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("DROP INDEX forgiven_of_tenant")
    for table, columns in COLUMNS.items():
        for column in columns:
            db.execute_sql(f"ALTER TABLE {table} DROP COLUMN {column}")
