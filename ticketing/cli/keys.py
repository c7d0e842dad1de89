"""`flask --app app keys`: API keys, for whoever has none yet."""

import click
from flask.cli import AppGroup

from ticketing.cli.base import command, config, json_option, role_option, show
from ticketing.constants import DEFAULT_KEY_TTL, MAX_KEY_TTL, MIN_KEY_TTL, Role
from ticketing.services import api_keys, tenants

group = AppGroup("keys", help="Make API keys.")


@group.command("create")
@click.argument("tenant")
@click.option("--name", required=True, help="What the key is for.")
@role_option
@click.option(
    "--ttl",
    type=click.IntRange(MIN_KEY_TTL, MAX_KEY_TTL),
    default=DEFAULT_KEY_TTL,
    show_default=True,
    help="Seconds it lives.",
)
@json_option
@command
def create(tenant: str, name: str, role: str, ttl: int, as_json: bool) -> None:
    """Make an API key of TENANT (slug or id) and print it, once."""
    key = api_keys.create(
        tenants.find(tenant).id,
        name=name,
        role=Role(role),
        ttl_seconds=ttl,
        secret_key=config().secret_key,
    )
    show({"id": key.id, "name": key.name, "role": key.role, "key": key.key}, as_json=as_json)
