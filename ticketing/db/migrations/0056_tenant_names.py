"""People sign in with the name of their organizer, in any case of its letters."""

from peewee import Database
from playhouse.migrate import SchemaMigrator


def up(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("CREATE INDEX tenants_by_name ON tenants (LOWER(name))")


def down(migrator: SchemaMigrator, db: Database) -> None:
    db.execute_sql("DROP INDEX tenants_by_name")
