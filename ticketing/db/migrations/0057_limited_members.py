"""Members who are limited to events, and the scanners that members open for themselves."""

from peewee import Database
from playhouse.migrate import SchemaMigrator

INDEX = "devices_of_member ON door_devices (member_id) WHERE member_id IS NOT NULL"


def up(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("ALTER TABLE members ADD COLUMN event_ids TEXT")
    db.execute_sql("ALTER TABLE door_devices ADD COLUMN member_id TEXT")
    db.execute_sql(f"CREATE INDEX {INDEX}")


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("DROP INDEX devices_of_member")
    db.execute_sql("ALTER TABLE door_devices DROP COLUMN member_id")
    db.execute_sql("ALTER TABLE members DROP COLUMN event_ids")
