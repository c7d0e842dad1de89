"""`flask --app app networks`: block networks of attackers."""

import json

import click
from flask.cli import AppGroup

from ticketing import clock
from ticketing.cli.base import command, config, json_option, show
from ticketing.services.access import blocked_networks

group = AppGroup("networks", help="Block networks of attackers, without a restart.")


@group.command("block")
@click.argument("network")
@click.option("--hours", type=int, default=24, show_default=True, help="For how long.")
@json_option
@command
def block(network: str, hours: int, as_json: bool) -> None:
    """Refuse all requests of NETWORK, such as 2001:db8::/32 or 192.0.2.7.

    It takes effect within 5 seconds. A second time for the same network counts from now on.
    """
    blocked = blocked_networks.block(blocked_networks.parse(network), hours)
    show(
        {"network": blocked.network, "until": clock.rfc3339(blocked.until)},
        as_json=as_json,
    )


@group.command("unblock")
@click.argument("network")
@command
def unblock(network: str) -> None:
    """Answer requests of NETWORK again, which must be as `networks list` shows it."""
    blocked_networks.unblock(blocked_networks.parse(network))


@group.command("list")
@json_option
@command
def list_networks(as_json: bool) -> None:
    """Print the networks that are blocked, and until when."""
    found = [(each.network, clock.rfc3339(each.until)) for each in blocked_networks.listed()]
    if as_json:
        click.echo(json.dumps([{"network": network, "until": until} for network, until in found]))
        return
    for network, until in found:
        click.echo(f"{network}  {until}")


@group.command("name")
@click.argument("networks", nargs=-1, required=True, metavar="ADDRESS...")
@command
def name(networks: tuple[str, ...]) -> None:
    """Print the name under which the console's page Networks shows each ADDRESS.

    The service stores no addresses. Take those of the time in question from its log, or from that
    of a proxy, and look for the name of the page among them.
    """
    for each in networks:
        click.echo(
            f"{blocked_networks.name_of(blocked_networks.parse(each), config().keyring)}  {each}"
        )
