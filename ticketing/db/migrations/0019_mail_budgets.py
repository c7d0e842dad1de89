"""Count mails by mailbox and by client, where strangers can cause them, and by tenant."""

from peewee import Database
from playhouse.migrate import SchemaMigrator

COLUMNS = ("mailbox", "client", "client_site")

INDEXES = (
    "mails_to_mailbox ON mails (mailbox, ended_at) WHERE mailbox IS NOT NULL",
    "mails_of_client ON mails (client, ended_at) WHERE client IS NOT NULL",
    "mails_of_client_site ON mails (client_site, ended_at) WHERE client_site IS NOT NULL",
    "mails_ended ON mails (tenant_id, ended_at, attempts) WHERE ended_at IS NOT NULL",
)


def up(migrator: SchemaMigrator, db: Database) -> None:
    for column in COLUMNS:
        db.execute_sql(f"ALTER TABLE mails ADD COLUMN {column} TEXT")
    for index in INDEXES:
        db.execute_sql(f"CREATE INDEX {index}")


def down(migrator: SchemaMigrator, db: Database) -> None:
    for index in INDEXES:
        db.execute_sql(f"DROP INDEX {index.split()[0]}")
    for column in COLUMNS:
        db.execute_sql(f"ALTER TABLE mails DROP COLUMN {column}")
