"""Add order limits by /64 and /48, and ticket types that require a credential."""

from peewee import Database
from playhouse.migrate import SchemaMigrator


def up(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("ALTER TABLE payment_intents ADD COLUMN held_by_site TEXT")
    db.execute_sql("DROP INDEX intents_unpaid_of")
    for column in ("held_by", "held_by_site"):
        db.execute_sql(
            f"CREATE INDEX intents_{column} ON payment_intents ({column}, created_at)"
            f" WHERE {column} IS NOT NULL"
        )
    db.execute_sql(
        "ALTER TABLE ticket_types ADD COLUMN requires_key BOOLEAN NOT NULL DEFAULT FALSE"
    )


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("ALTER TABLE ticket_types DROP COLUMN requires_key")
    for column in ("held_by", "held_by_site"):
        db.execute_sql(f"DROP INDEX intents_{column}")
    db.execute_sql(
        "CREATE INDEX intents_unpaid_of ON payment_intents (held_by, quantity, hold_until)"
        " WHERE status = 'awaiting_payment' AND held_by IS NOT NULL"
    )
    db.execute_sql("ALTER TABLE payment_intents DROP COLUMN held_by_site")
