"""`flask --app app wallet`: where a tenant's money is."""

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

group = AppGroup("wallet", help="See where the money is.")


@group.command("export")
@click.argument("tenant")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    default="-",
    help="The file to write, readable by its owner alone; standard output if left out.",
)
@command
def export(tenant: str, output: Path) -> None:
    """Write every address ever issued for TENANT (slug or id) as CSV, with what it holds now.

    Balance and booked are in the token's atomic units; booked is what the order's payments add up
    to. The balance is empty where the chain is not enabled.

    The derivation path begins at the account whose xpub the service was given: 0/7 is
    m/44'/60'/3'/0/7 if that account is m/44'/60'/3'. Only the part below the account is known here.

    Sweep is yes, or why tools.sweep leaves the address out: live (the order may still be paid),
    ended_recently (less than 24 hours ago), not_as_booked (the balance is not what the books say),
    not_seen (the chain is not enabled).

    The file is written at the end, complete, or not at all.
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
            raise click.ClickException(f"{output} cannot be written: {error.strerror}") from None


def _write(text: IO[str], path: Path) -> None:
    """Write a file that its owner alone may read, whatever its mode was before."""
    with open(path, "w", encoding="utf-8", opener=_open_private) as file:
        shutil.copyfileobj(text, file)


def _open_private(path: str, flags: int) -> int:
    descriptor = os.open(path, flags, 0o600)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.fchmod(descriptor, 0o600)
    return descriptor


def _cell(value: Any) -> Any:
    return value.strftime("%Y-%m-%dT%H:%M:%SZ") if isinstance(value, datetime) else value
