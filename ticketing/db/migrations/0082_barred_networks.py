"""Organizers let the people of a network come last in a waiting room."""

from peewee import Database
from playhouse.migrate import SchemaMigrator


def up(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("ALTER TABLE waiting_room_turns ADD COLUMN bars BOOLEAN NOT NULL DEFAULT FALSE")


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("DELETE FROM waiting_room_turns WHERE bars")
    db.execute_sql("ALTER TABLE waiting_room_turns DROP COLUMN bars")
