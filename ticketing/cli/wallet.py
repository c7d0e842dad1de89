"""`flask --app app wallet`: the addresses and balances of a tenant."""

import csv
import os
import shutil
import stat
import sys
import tempfile
from dataclasses import astuple, fields
from datetime import datetime
from pathlib import Path
from typing import IO, Any

import click
from flask.cli import AppGroup

from ticketing.cli.base import command, config
from ticketing.services.access import tenants
from ticketing.services.payments import wallet_export

PROGRESS_ROWS = 1000

group = AppGroup("wallet", help="Export addresses and balances.")


@group.command("export")
@click.argument("tenant")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    default="-",
    help="The file to write. Only its owner can read it. Default: standard output.",
)
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
    with tempfile.TemporaryFile("w+", encoding="utf-8", newline="") as complete:
        rows = csv.writer(complete, lineterminator="\n")
        rows.writerow(field.name for field in fields(wallet_export.ExportedAddress))
        found = wallet_export.addresses(tenants.find(tenant).id, config().chains)
        for count, row in enumerate(found, start=1):
            rows.writerow(map(_cell, astuple(row)))
            if count % PROGRESS_ROWS == 0:
                click.echo(f"{count} addresses so far", err=True)
        complete.seek(0)
        if output == Path("-"):
            shutil.copyfileobj(complete, sys.stdout)
            return
        try:
            _write(complete, output)
        except OSError as error:
            raise click.ClickException(f"cannot write {output}: {error.strerror}") from None


def _write(text: IO[str], path: Path) -> None:
    """Write a file that only its owner can read, also if it exists with another mode."""
    with open(path, "w", encoding="utf-8", opener=_open_private) as file:
        shutil.copyfileobj(text, file)


def _open_private(path: str, flags: int) -> int:
    descriptor = os.open(path, flags, 0o600)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.fchmod(descriptor, 0o600)
    return descriptor


def _cell(value: Any) -> Any:
    return value.strftime("%Y-%m-%dT%H:%M:%SZ") if isinstance(value, datetime) else value
