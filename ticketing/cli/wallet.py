"""`flask --app app wallet`: the addresses and balances of a tenant."""

from pathlib import Path

import click
from flask.cli import AppGroup

from ticketing.cli import csv_file
from ticketing.cli.base import command, config
from ticketing.services.access import tenants
from ticketing.services.payments import wallet_export

group = AppGroup("wallet", help="Export addresses and balances.")


@group.command("export")
@click.argument("tenant")
@csv_file.output_option
@command
def export(tenant: str, output: Path) -> None:
    """Write all addresses issued for TENANT (slug or id) as CSV, with their current balances.

    Balance and booked are in atomic units of the token. Booked is the sum of the order's payments.
    The balance is empty if the chain is not enabled.

    The derivation path starts at the account of the xpub: if the account is m/44'/60'/3', then 0/7
    is m/44'/60'/3'/0/7. The service does not know the path of the account itself.

    Sweep is yes, or the reason why tools.sweep skips the address: live (the order may still be
    paid), ended_recently (less than 24 hours ago), not_as_booked (the balance differs from the
    recorded payments), not_seen (the chain is not enabled).

    The file is written at the end: it is complete, or there is none.
    """
    found = wallet_export.addresses(tenants.find(tenant).id, config().chains)
    csv_file.write(wallet_export.ExportedAddress, found, output, "addresses")
