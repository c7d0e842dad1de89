"""Add the settings of tenants. Pages need words like `docs`, so no tenant may have them as slug."""

from peewee import Database
from playhouse.migrate import SchemaMigrator
from playhouse.migrations import MigrationError

from ticketing.constants import RESERVED_SLUGS

COLUMNS = (
    "contact_email",
    "website",
    "terms_url",
    "privacy_url",
    "legal_address",
    "accent_color",
)


def up(migrator: SchemaMigrator, db: Database) -> None:
    taken = {slug for (slug,) in db.execute_sql("SELECT slug FROM tenants").fetchall()}
    if in_the_way := sorted(taken & RESERVED_SLUGS):
        raise MigrationError(
            f"Pages need these slugs, which tenants have: {', '.join(in_the_way)}. Rename each with"
            " 'flask --app app tenants rename SLUG NEW_SLUG', then run 'db upgrade' again."
        )
    for column in COLUMNS:
        db.execute_sql(f"ALTER TABLE tenants ADD COLUMN {column} TEXT")


def down(migrator: SchemaMigrator, db: Database) -> None:
    for column in COLUMNS:
        db.execute_sql(f"ALTER TABLE tenants DROP COLUMN {column}")
