"""Second factors of members: apps that show codes, recovery codes, passkeys."""

from peewee import Database
from playhouse.migrate import SchemaMigrator

TABLES = (
    """
    CREATE TABLE totps (
        member_id TEXT PRIMARY KEY REFERENCES members (id),
        secret TEXT NOT NULL,
        secret_key_id TEXT NOT NULL,
        created_at TIMESTAMPTZ NOT NULL,
        confirmed_at TIMESTAMPTZ,
        last_step BIGINT NOT NULL DEFAULT 0,
        attempts INTEGER NOT NULL DEFAULT 0,
        attempts_since TIMESTAMPTZ
    )
    """,
    """
    CREATE TABLE recovery_codes (
        member_id TEXT NOT NULL REFERENCES members (id),
        digest TEXT NOT NULL,
        PRIMARY KEY (member_id, digest)
    )
    """,
    """
    CREATE TABLE passkeys (
        id TEXT PRIMARY KEY,
        member_id TEXT NOT NULL REFERENCES members (id),
        credential_id TEXT NOT NULL UNIQUE,
        public_key TEXT NOT NULL,
        sign_count BIGINT NOT NULL,
        name TEXT NOT NULL,
        created_at TIMESTAMPTZ NOT NULL,
        last_used_at TIMESTAMPTZ
    )
    """,
    """
    CREATE TABLE used_challenges (
        digest TEXT PRIMARY KEY,
        ends_at TIMESTAMPTZ NOT NULL
    )
    """,
)
NAMES = ("used_challenges", "passkeys", "recovery_codes", "totps")


def up(migrator: SchemaMigrator, db: Database) -> None:
    for table in TABLES:
        db.execute_sql(table)
    db.execute_sql("CREATE INDEX passkeys_of_member ON passkeys (member_id, id)")
    db.execute_sql("CREATE INDEX challenges_by_end ON used_challenges (ends_at)")
    db.execute_sql("ALTER TABLE members ADD COLUMN second_factor_since TIMESTAMPTZ")
    db.execute_sql(
        "ALTER TABLE tenants ADD COLUMN second_factor_required BOOLEAN NOT NULL DEFAULT FALSE"
    )


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("ALTER TABLE tenants DROP COLUMN second_factor_required")
    db.execute_sql("ALTER TABLE members DROP COLUMN second_factor_since")
    for name in NAMES:
        db.execute_sql(f"DROP TABLE {name}")
