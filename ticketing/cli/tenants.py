"""`flask --app app tenants`: accounts of organizers."""

from typing import Any

import click
from flask.cli import AppGroup

from ticketing.cli.base import command, config, json_option, record_change, show
from ticketing.constants import DEFAULT_KEY_TTL, Role
from ticketing.db.connection import write_transaction
from ticketing.services import wallets
from ticketing.services.access import api_keys, invitations, tenants

group = AppGroup("tenants", help="Create and rename accounts of organizers.")


@group.command("create")
@click.argument("slug")
@click.option("--name", required=True, help="The organizer's name.")
@click.option("--xpub", help="Extended public key of the account that receives payments.")
@click.option("--email", help="Email address of the first member. Default: stated at the link.")
@json_option
@command
def create(slug: str, name: str, xpub: str | None, email: str | None, as_json: bool) -> None:
    """Create a tenant, and print its first admin key and a link for its first member, once.

    At first_sign_in, the first member sets a password within 48 hours, as an administrator.

    The account of the xpub must have no other use. Chains on which this could not be checked are
    printed as unchecked_chains.
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
        first = invitations.create(tenant.id, email, Role.ADMIN, config().keyring)
        made = {"slug": slug, "name": name, "xpub": xpub, "first_key": key.id}
        record_change(tenant.id, tenant.id, before=None, after={**made, "first_member": first.id})
    shown: dict[str, Any] = {"id": tenant.id, "slug": slug, "name": name, "key": key.key}
    shown["first_sign_in"] = invitations.url(first.invitation, config())
    if unchecked:
        shown["unchecked_chains"] = unchecked
    show(shown, as_json=as_json)


@group.command("rename")
@click.argument("slug")
@click.argument("new_slug")
@json_option
@command
def rename(slug: str, new_slug: str, as_json: bool) -> None:
    """Give the tenant SLUG the slug NEW_SLUG. It works before 'db upgrade' too.

    Paths and links with the old slug end, and so do the tenant's JWTs: its software exchanges its
    API keys again. Ids and API keys stay valid.
    """
    with write_transaction():
        tenant_id = tenants.rename(slug, new_slug)
        record_change(tenant_id, tenant_id, before={"slug": slug}, after={"slug": new_slug})
    show({"id": tenant_id, "slug": new_slug}, as_json=as_json)
