"""Waiting rooms count few people of each network."""

from peewee import Database
from playhouse.migrate import SchemaMigrator

NETWORKS = """
    event_id TEXT NOT NULL REFERENCES events (id),
    network INTEGER NOT NULL,
    people INTEGER NOT NULL,
    counted_at BIGINT NOT NULL,
    PRIMARY KEY (event_id, network)
"""


def up(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql(f"CREATE TABLE waiting_room_networks ({NETWORKS})")


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("DROP TABLE waiting_room_networks")
