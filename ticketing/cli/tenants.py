"""`flask --app app tenants`: organizers' accounts."""

from typing import Any

import click
from flask.cli import AppGroup

from ticketing.cli.base import command, config, json_option, leave_trail, show
from ticketing.constants import DEFAULT_KEY_TTL, Role
from ticketing.db.connection import write_transaction
from ticketing.services import wallets
from ticketing.services.access import api_keys, tenants

group = AppGroup("tenants", help="Make organizers' accounts.")


@group.command("create")
@click.argument("slug")
@click.option("--name", required=True, help="What people call the organizer.")
@click.option("--xpub", help="Extended public key of the account to be paid into.")
@json_option
@command
def create(slug: str, name: str, xpub: str | None, as_json: bool) -> None:
    """Make a tenant and print its first admin key, once.

    The account of the xpub must be used for nothing else. Chains that cannot be asked whether it
    is are printed as unchecked_chains.
    """
    unchecked = wallets.ensure_unused(xpub, config().chains) if xpub is not None else []
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
    shown: dict[str, Any] = {"id": tenant.id, "slug": slug, "name": name, "key": key.key}
    if unchecked:
        shown["unchecked_chains"] = unchecked
    show(shown, as_json=as_json)
