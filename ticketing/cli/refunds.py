"""`flask --app app refunds`: the refunds that a tenant owes."""

from pathlib import Path

import click
from flask.cli import AppGroup

from ticketing.cli import csv_file
from ticketing.cli.base import command, config
from ticketing.constants import MAX_SAFE_INTEGER
from ticketing.services.access import tenants
from ticketing.services.payments import refund_export

group = AppGroup("refunds", help="Export the refunds that are due.")


@group.command("export")
@click.argument("tenant")
@csv_file.output_option
@click.option(
    "--min-amount",
    type=click.IntRange(1, MAX_SAFE_INTEGER),
    default=1,
    help="Leave out refunds of less, in micro-units.",
)
@command
def export(tenant: str, output: Path, min_amount: int) -> None:
    """Write the refunds that TENANT (slug or id) owes as CSV, for tools.sweep --refunds.

    Balance and amount are in atomic units of the token. The address is the order's payment
    address, from which tools.sweep pays. Settled refunds is how many were settled for the order.

    Send is yes, or the reason why tools.sweep skips the refund: no_refund_address (the buyer has
    not stated one), waits (the buyer has stated another one, which does not count yet),
    balance_too_low (the address holds less than the amount, for example after a sweep), not_seen
    (the chain is not enabled).

    The file is written at the end: it is complete, or there is none.
    """
    found = refund_export.due(tenants.find(tenant).id, config().chains, min_amount)
    csv_file.write(refund_export.ExportedRefund, found, output, "refunds")
