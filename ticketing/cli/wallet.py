"""`flask --app app wallet`: the addresses and balances of a tenant, and its recovery file."""

import io
import json
from pathlib import Path

import click
from flask.cli import AppGroup

from ticketing.cli import collections, csv_file, private_file
from ticketing.cli.base import command, config
from ticketing.services.access import tenants
from ticketing.services.payments import wallet_export
from ticketing.services.wallets import recovery

group = AppGroup("wallet", help="Export addresses and balances, and the recovery file.")
group.add_command(collections.command)


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


@group.command("recovery")
@click.argument("tenant")
@csv_file.output_option
@command
def export_recovery(tenant: str, output: Path) -> None:
    """Write the recovery file of TENANT (slug or id): it finds all payments without the database.

    It cannot spend anything, but it reveals all addresses of orders: keep it as secret as a backup.
    It has every ordinary address that was ever a wallet. Wallets of an xpub need none.
    """
    text = json.dumps(recovery.file_of(tenants.find(tenant), config().chains), indent=2)
    private_file.write(io.StringIO(f"{text}\n"), output)
