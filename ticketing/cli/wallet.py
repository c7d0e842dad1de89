"""`flask --app app wallet`: where a tenant's money is."""

import csv
import shutil
import tempfile
from dataclasses import astuple, fields
from typing import IO

import click
from flask.cli import AppGroup

from ticketing.cli.base import command, config
from ticketing.services.access import tenants
from ticketing.services.payments import wallet_export

PROGRESS_ROWS = 1000

group = AppGroup("wallet", help="See where the money is.")


@group.command("export")
@click.argument("tenant")
@click.option(
    "--output",
    type=click.File("w", encoding="utf-8"),
    default="-",
    help="The file to write; standard output if left out.",
)
@command
def export(tenant: str, output: IO[str]) -> None:
    """Write every address ever issued for TENANT (slug or id) as CSV, with what it holds now.

    The balance is in the token's atomic units; it is empty where the chain is not enabled.

    The derivation path begins at the account whose xpub the service was given: 0/7 is
    m/44'/60'/0'/0/7 if that account is the wallet's first, m/44'/60'/0'. Only the part below
    the account is known here.

    The whole of it is written at the end, or nothing.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8", newline="") as whole:
        rows = csv.writer(whole, lineterminator="\n")
        rows.writerow(field.name for field in fields(wallet_export.ExportedAddress))
        found = wallet_export.addresses(tenants.find(tenant).id, config().chains)
        for count, row in enumerate(found, start=1):
            rows.writerow(astuple(row))
            if count % PROGRESS_ROWS == 0:
                click.echo(f"{count} addresses so far", err=True)
        whole.seek(0)
        shutil.copyfileobj(whole, output)
