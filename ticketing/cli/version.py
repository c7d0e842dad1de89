"""`flask --app app version`: which release this is."""

import click

from ticketing.version import VERSION


@click.command("version")
def command() -> None:
    """Print the name of this release."""
    click.echo(VERSION)
