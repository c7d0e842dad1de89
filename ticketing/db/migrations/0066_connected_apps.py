"""Apps that act for members through OAuth."""

from peewee import Database
from playhouse.migrate import SchemaMigrator

TABLE = """
    CREATE TABLE connected_apps (
        id TEXT PRIMARY KEY,
        tenant_id TEXT NOT NULL REFERENCES tenants (id),
        member_id TEXT NOT NULL REFERENCES members (id),
        password_generation BIGINT NOT NULL,
        client_id TEXT NOT NULL,
        name TEXT NOT NULL,
        host TEXT,
        redirect_uri TEXT NOT NULL,
        code_challenge TEXT NOT NULL,
        role TEXT NOT NULL,
        generation INTEGER NOT NULL DEFAULT 0,
        created_at TIMESTAMPTZ NOT NULL,
        renewed_at TIMESTAMPTZ NOT NULL,
        ended_at TIMESTAMPTZ,
        kept_until TIMESTAMPTZ NOT NULL
    )
"""
INDEXES = (
    "connected_apps_of_tenant ON connected_apps (tenant_id, id) WHERE ended_at IS NULL",
    "connected_apps_of_member ON connected_apps (member_id, id) WHERE ended_at IS NULL",
    "connected_apps_by_end ON connected_apps (kept_until)",
)


def up(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql(TABLE)
    for index in INDEXES:
        db.execute_sql(f"CREATE INDEX {index}")


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("DROP TABLE connected_apps")
