"""Waiting rooms: who waits to buy while a sale has more visitors than the service can serve."""

from peewee import Database
from playhouse.migrate import SchemaMigrator

TABLES = {
    "waiting_rooms": """
        event_id TEXT PRIMARY KEY REFERENCES events (id),
        opened BIGINT NOT NULL,
        sale_starts BIGINT,
        at BIGINT NOT NULL,
        admitted_until BIGINT NOT NULL,
        per_minute INTEGER NOT NULL CHECK (per_minute > 0),
        called TEXT NOT NULL,
        slowed_at BIGINT NOT NULL,
        caught_up_at BIGINT,
        held_since BIGINT
    """,
    "waiting_room_arrivals": """
        event_id TEXT NOT NULL REFERENCES events (id),
        second BIGINT NOT NULL,
        people BIGINT NOT NULL,
        PRIMARY KEY (event_id, second)
    """,
    "waiting_room_processes": """
        event_id TEXT NOT NULL REFERENCES events (id),
        process TEXT NOT NULL,
        at BIGINT NOT NULL,
        responses INTEGER NOT NULL,
        not_quick INTEGER NOT NULL,
        slow INTEGER NOT NULL,
        PRIMARY KEY (event_id, process)
    """,
    "waiting_room_turns": """
        event_id TEXT NOT NULL REFERENCES events (id),
        place TEXT NOT NULL,
        client TEXT NOT NULL,
        site TEXT NOT NULL,
        began BIGINT NOT NULL,
        ends_at TIMESTAMPTZ NOT NULL,
        used BOOLEAN NOT NULL DEFAULT FALSE,
        PRIMARY KEY (event_id, place)
    """,
}
COLUMNS = (
    "waiting_room TEXT NOT NULL DEFAULT 'auto' CHECK (waiting_room IN ('auto', 'on', 'off'))",
    "is_queueing BOOLEAN NOT NULL DEFAULT FALSE",
)
INDEXES = (
    "UNIQUE INDEX one_turn_of_client ON waiting_room_turns (event_id, client) WHERE NOT used",
    "INDEX turns_of_site ON waiting_room_turns (event_id, site) WHERE NOT used",
    "INDEX turns_by_beginning ON waiting_room_turns (event_id, began)",
)


def up(migrator: SchemaMigrator, db: Database) -> None:
    for table, columns in TABLES.items():
        db.execute_sql(f"CREATE TABLE {table} ({columns})")
    for column in COLUMNS:
        db.execute_sql(f"ALTER TABLE events ADD COLUMN {column}")
    for index in INDEXES:
        db.execute_sql(f"CREATE {index}")


def down(migrator: SchemaMigrator, db: Database) -> None:
    for table in TABLES:
        db.execute_sql(f"DROP TABLE {table}")
    for column in COLUMNS:
        db.execute_sql(f"ALTER TABLE events DROP COLUMN {column.split()[0]}")
