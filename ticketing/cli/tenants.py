"""`flask --app app tenants`: organizers' accounts."""

import click
from flask.cli import AppGroup

from ticketing.cli.base import command, config, json_option, leave_trail, show
from ticketing.constants import DEFAULT_KEY_TTL, Role
from ticketing.db.connection import write_transaction
from ticketing.services.access import api_keys, tenants

group = AppGroup("tenants", help="Make organizers' accounts.")


@group.command("create")
@click.argument("slug")
@click.option("--name", required=True, help="What people call the organizer.")
@click.option("--xpub", help="Extended public key of the account to be paid into.")
@json_option
@command
def create(slug: str, name: str, xpub: str | None, as_json: bool) -> None:
    """Make a tenant and print its first admin key, once."""
    with write_transaction():
        tenant = tenants.create(slug, name, xpub)
        key = api_keys.create(
            tenant.id,
            name="first admin key",
            role=Role.ADMIN,
            ttl_seconds=DEFAULT_KEY_TTL,
            keyring=config().keyring,
        )
        made = {"slug": slug, "name": name, "xpub": xpub, "first_key": key.id}
        leave_trail(tenant.id, tenant.id, before=None, after=made)
    show(
        {"id": tenant.id, "slug": tenant.slug, "name": tenant.name, "key": key.key}, as_json=as_json
    )
