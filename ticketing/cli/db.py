"""`flask --app app db`: migrations."""

import click
from flask.cli import AppGroup

from ticketing import migrating
from ticketing.cli.base import command

group = AppGroup("db", help="Bring the database up to date.")


@group.command("upgrade")
@command
def upgrade() -> None:
    """Apply pending migrations. Safe to run from several processes at once."""
    applied = migrating.upgrade()
    click.echo("\n".join(f"applied {name}" for name in applied) or "nothing to apply")


@group.command("downgrade")
@click.confirmation_option(prompt="This takes the last migration back, with its data. Go on?")
@command
def downgrade() -> None:
    """Take back the last migration."""
    click.echo("\n".join(f"took back {name}" for name in migrating.downgrade()) or "nothing there")
