"""`flask --app app wallet`: the collections of a tenant, and its recovery file."""

import io
import json
from pathlib import Path

import click
from flask.cli import AppGroup

from ticketing.cli import collections, csv_file, private_file
from ticketing.cli.base import command, config
from ticketing.services.access import tenants
from ticketing.services.wallets import recovery

group = AppGroup("wallet", help="Export collections, and the recovery file.")
group.add_command(collections.command)


@group.command("recovery")
@click.argument("tenant")
@csv_file.output_option
@command
def export_recovery(tenant: str, output: Path) -> None:
    """Write the recovery file of TENANT (slug or id): it finds all payments without the database.

    It cannot spend anything, but it reveals all addresses of orders: keep it as secret as a backup.
    It has every address that was ever a wallet.
    """
    text = json.dumps(recovery.file_of(tenants.find(tenant), config().chains), indent=2)
    private_file.write(io.StringIO(f"{text}\n"), output)
