"""`flask --app app worker`: the process that reads the chains."""

import sys

import click

from ticketing.cli.base import command as runs
from ticketing.cli.base import config
from ticketing.worker.loop import Worker, look_once


@click.command("worker")
@click.option("--once", is_flag=True, help="Read every chain once, then stop.")
@click.option(
    "--accept-reorganization",
    is_flag=True,
    help="With --once: go back even if the node has none of the stored blocks.",
)
@runs
def command(once: bool, accept_reorganization: bool) -> None:
    """Read the chains: find payments, settle and expire orders."""
    if accept_reorganization and not once:
        raise click.UsageError("--accept-reorganization requires --once")
    if not once:
        sys.exit(0 if Worker(config()).run() else 1)
    troubles = look_once(config(), accept_reorganization=accept_reorganization)
    if troubles:
        raise click.ClickException("; ".join(troubles))
