"""`flask --app app tenants`: accounts of organizers."""

import re
from typing import Any

import click
from flask.cli import AppGroup

from ticketing.cli.base import command, config, json_option, record_change, show
from ticketing.constants import DEFAULT_KEY_TTL
from ticketing.db.connection import write_transaction
from ticketing.errors import Invalid
from ticketing.roles import Role
from ticketing.services.access import api_keys, invitations, tenants
from ticketing.services.wallets import changes

group = AppGroup("tenants", help="Create and rename accounts of organizers.")


@group.command("create")
@click.argument("slug")
@click.option("--name", required=True, help="The organizer's name.")
@click.option("--address", help="The address that receives all payments.")
@click.option(
    "--chains",
    "chain_ids",
    help="Ids of the networks on which you control the address, for example 8453,10.",
)
@click.option("--contract-is-mine", is_flag=True, help="The address is your Safe or smart wallet.")
@click.option("--exchange", is_flag=True, help="The address belongs to an exchange.")
@click.option("--email", help="Email address of the first member. Default: stated at the link.")
@json_option
@command
def create(
    slug: str,
    name: str,
    address: str | None,
    chain_ids: str | None,
    contract_is_mine: bool,
    exchange: bool,
    email: str | None,
    as_json: bool,
) -> None:
    """Create a tenant, and print its first admin key and a link for its first member, once.

    At first_sign_in, the first member sets a password within 48 hours, as an administrator.

    An address that is a contract must exist on all of its chains, and be stated with
    --contract-is-mine. Chains on which this could not be checked are printed as unchecked_chains.
    """
    wallet, unchecked = None, []
    if address is not None:
        options = {
            "address": address,
            "chain_ids": None if chain_ids is None else _ids(chain_ids),
            "exchange": exchange,
            "contract_is_mine": contract_is_mine,
        }
        wallet = changes.stated(None, options, config().chains)
        unchecked = sorted(set(wallet.chain_ids) - {*wallet.code_on, *wallet.no_code_on})
    elif chain_ids or contract_is_mine or exchange:
        raise Invalid({"address": ["State the address that these options are about."]})
    with write_transaction():
        tenant = tenants.create(slug, name, wallet, by="cli")
        key = api_keys.create(
            tenant.id,
            name="first admin key",
            role=Role.ADMIN,
            ttl_seconds=DEFAULT_KEY_TTL,
            keyring=config().keyring,
            is_first=True,
        )
        first = invitations.create(tenant.id, email, Role.ADMIN, config().keyring)
        made = {"slug": slug, "name": name, "address": address, "first_key": key.id}
        record_change(tenant.id, tenant.id, before=None, after={**made, "first_member": first.id})
    shown: dict[str, Any] = {"id": tenant.id, "slug": slug, "name": name, "key": key.key}
    shown["first_sign_in"] = invitations.url(first.invitation, config())
    if unchecked:
        shown["unchecked_chains"] = unchecked
    show(shown, as_json=as_json)


def _ids(text: str) -> list[int]:
    """Return the ids of chains in a list with commas. Invalid."""
    if not re.fullmatch(r"[0-9]{1,16}(,[0-9]{1,16}){0,63}", text):
        raise Invalid({"chains": ["Name the ids of networks, for example --chains 8453,10."]})
    return [int(each) for each in text.split(",")]


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
