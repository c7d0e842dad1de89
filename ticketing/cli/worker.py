"""`flask --app app worker`: the process that watches the chains."""

import sys

import click

from ticketing.cli.base import command as runs
from ticketing.cli.base import config
from ticketing.worker.loop import Worker, look_once


@click.command("worker")
@click.option("--once", is_flag=True, help="Look at every chain once, then stop.")
@runs
def command(once: bool) -> None:
    """Watch the chains: find payments, settle, expire."""
    if not once:
        sys.exit(0 if Worker(config()).run() else 1)
    troubles = look_once(config())
    if troubles:
        raise click.ClickException("; ".join(troubles))
