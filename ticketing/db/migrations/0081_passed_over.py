"""Note which entries of a waiting list are passed over, so that they do not close the sale."""

from peewee import Database
from playhouse.migrate import SchemaMigrator

COLUMNS = (
    ("waiting_list_entries", "passed_over_at TIMESTAMPTZ"),
    ("waiting_list_entries", "idle_since TIMESTAMPTZ"),
    ("ticket_types", "idle BIGINT NOT NULL DEFAULT 0 CHECK (idle >= 0)"),
)
IS_OPEN = "WHERE status IN ('unconfirmed', 'waiting', 'offered')"
INDEXES = (
    "INDEX entries_of_client ON waiting_list_entries (client, event_id) " + IS_OPEN,
    "INDEX entries_of_site ON waiting_list_entries (client_site, event_id) " + IS_OPEN,
    "INDEX open_offers ON waiting_list_entries (event_id) WHERE status = 'offered'",
    "INDEX ended_offers ON waiting_list_entries (event_id, offered_at)"
    " WHERE offered_at IS NOT NULL AND status <> 'offered'",
)


def up(migrator: SchemaMigrator, db: Database) -> None:
    for table, column in COLUMNS:
        db.execute_sql(f"ALTER TABLE {table} ADD COLUMN {column}")
    for index in INDEXES:
        db.execute_sql(f"CREATE {index}")


def down(migrator: SchemaMigrator, db: Database) -> None:
    for index in INDEXES:
        db.execute_sql(f"DROP INDEX {index.split()[1]}")
    for table, column in COLUMNS:
        db.execute_sql(f"ALTER TABLE {table} DROP COLUMN {column.split()[0]}")
