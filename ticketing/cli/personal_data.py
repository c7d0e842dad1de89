"""`flask --app app personal-data`: erase names and email addresses."""

import sys

import click
from flask.cli import AppGroup

from ticketing.cli.base import command, record_change
from ticketing.db.connection import write_transaction
from ticketing.services import erasure

group = AppGroup("personal-data", help="Erase names and email addresses.")


@group.command("erase")
@click.argument("ids", nargs=-1, required=True)
@command
def erase(ids: tuple[str, ...]) -> None:
    """Erase the personal data of orders and admissions, by their ids. A repeat changes nothing.

    After a restore, repeat the erasures that were made since the backup: the service's log names
    each in a line "personal data erased: ID". Unknown ids are printed, with exit code 1.
    """
    unknown = []
    for each in ids:
        with write_transaction():
            tenant_id = erasure.erase_of_any_tenant(each)
            if tenant_id is None:
                unknown.append(each)
            else:
                record_change(tenant_id, each, before=None, after={"erased": True})
    click.echo(f"erased {len(ids) - len(unknown)}")
    for each in unknown:
        click.echo(f"{each} is not an order or an admission in this database", err=True)
    if unknown:
        sys.exit(1)
