"""Add invitations and sessions of members. A member who is invited has no password yet.

Also add an index for the sales of each day.
"""

from peewee import Database
from playhouse.migrate import SchemaMigrator

# The first administrator of a tenant states an address with the password.
OPTIONAL = ("email", "password_hash")

TABLES = {
    "invitations": """
        id TEXT PRIMARY KEY,
        member_id TEXT NOT NULL REFERENCES members (id),
        created_at TIMESTAMPTZ NOT NULL,
        expires_at TIMESTAMPTZ NOT NULL,
        ended_at TIMESTAMPTZ
    """,
    "sessions": """
        id TEXT PRIMARY KEY,
        digest TEXT NOT NULL UNIQUE,
        member_id TEXT NOT NULL REFERENCES members (id),
        created_at TIMESTAMPTZ NOT NULL,
        last_used_at TIMESTAMPTZ NOT NULL,
        address TEXT,
        user_agent TEXT
    """,
}

INDEXES = (
    # With the status in it, SQLite reads only the index: a large event has 100,000 orders.
    "sales_of_event ON payment_intents (event_id, confirmed_at, quantity, amount, status)"
    " WHERE status = 'confirmed'",
    "members_of_tenant ON members (tenant_id, id)",
    "invitations_by_end ON invitations (expires_at)",
    "sessions_of_member ON sessions (member_id, id)",
    "sessions_by_begin ON sessions (created_at)",
    "sessions_by_use ON sessions (last_used_at)",
)


def up(migrator: SchemaMigrator, db: Database) -> None:
    for column in OPTIONAL:
        migrator.drop_not_null("members", column).run()
    db.execute_sql("ALTER TABLE members ADD COLUMN password_set_at TIMESTAMPTZ")
    for table, definition in TABLES.items():
        db.execute_sql(f"CREATE TABLE {table} ({definition})")
    for index in INDEXES:
        db.execute_sql(f"CREATE INDEX {index}")
    # Of several invitations of a member, only the newest is open.
    db.execute_sql(
        "CREATE UNIQUE INDEX invitations_open ON invitations (member_id) WHERE ended_at IS NULL"
    )


def down(migrator: SchemaMigrator, db: Database) -> None:
    for table in reversed(TABLES):
        db.execute_sql(f"DROP TABLE {table}")
    for index in ("sales_of_event", "members_of_tenant"):
        db.execute_sql(f"DROP INDEX {index}")
    db.execute_sql("ALTER TABLE members DROP COLUMN password_set_at")
    db.execute_sql("DELETE FROM members WHERE email IS NULL OR password_hash IS NULL")
    for column in OPTIONAL:
        migrator.add_not_null("members", column).run()
