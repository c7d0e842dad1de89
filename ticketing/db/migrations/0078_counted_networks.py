"""Waiting rooms count few people of each network, and bound its turns."""

from peewee import Database
from playhouse.migrate import SchemaMigrator

NETWORKS = """
    event_id TEXT NOT NULL REFERENCES events (id),
    network INTEGER NOT NULL,
    people INTEGER NOT NULL,
    counted_at BIGINT NOT NULL,
    PRIMARY KEY (event_id, network)
"""
COLUMNS = (
    ("waiting_rooms", "turns INTEGER NOT NULL DEFAULT 1"),
    ("waiting_rooms", "used_turns INTEGER NOT NULL DEFAULT 0"),
    ("waiting_room_turns", "seen BIGINT NOT NULL DEFAULT 0"),
)
FORMER_INDEXES = (
    "UNIQUE INDEX one_turn_of_client ON waiting_room_turns (event_id, client) WHERE NOT used",
    "INDEX turns_of_site ON waiting_room_turns (event_id, site) WHERE NOT used",
)


def up(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql(f"CREATE TABLE waiting_room_networks ({NETWORKS})")
    for table, column in COLUMNS:
        db.execute_sql(f"ALTER TABLE {table} ADD COLUMN {column}")
    # A network may have several turns at a time, and those that ended count, too.
    db.execute_sql("DROP INDEX one_turn_of_client")
    db.execute_sql("DROP INDEX turns_of_site")
    db.execute_sql("CREATE INDEX turns_of_network ON waiting_room_turns (event_id, site)")


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("DROP INDEX turns_of_network")
    # The version before knows one turn of each network. The others end.
    db.execute_sql(
        "UPDATE waiting_room_turns SET used = TRUE WHERE NOT used AND EXISTS (SELECT 1"
        " FROM waiting_room_turns AS other WHERE other.event_id = waiting_room_turns.event_id"
        " AND other.client = waiting_room_turns.client AND NOT other.used"
        " AND other.place > waiting_room_turns.place)"
    )
    for index in FORMER_INDEXES:
        db.execute_sql(f"CREATE {index}")
    for table, column in COLUMNS:
        db.execute_sql(f"ALTER TABLE {table} DROP COLUMN {column.split()[0]}")
    db.execute_sql("DROP TABLE waiting_room_networks")
