"""Write rows as a CSV file that only its owner can read."""

import csv
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import astuple, fields
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from ticketing.services.exports import safe_cells

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

PROGRESS_ROWS = 1000

output_option = click.option(
    "--output",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    default="-",
    help="The file to write. Only its owner can read it. Default: standard output.",
)


def write(
    kind: "type[DataclassInstance]", rows: "Iterable[DataclassInstance]", output: Path, what: str
) -> None:
    """Write rows of the dataclass `kind`, whose fields are the columns.

    `what` names the rows in messages. The file is written at the end: it is complete, or there is
    none. ClickException if it cannot be written.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8", newline="") as complete:
        lines = csv.writer(complete, lineterminator="\n")
        lines.writerow(field.name for field in fields(kind))
        for count, row in enumerate(rows, start=1):
            lines.writerow(map(safe_cells.text_of, astuple(row)))
            if count % PROGRESS_ROWS == 0:
                click.echo(f"{count} {what} so far", err=True)
        copy(complete, output)


def copy(complete: IO[str], output: Path) -> None:
    """Write all of a temporary file to `output`, or to standard output for "-". ClickException."""
    complete.seek(0)
    if output == Path("-"):
        shutil.copyfileobj(complete, sys.stdout)
        return
    try:
        _copy(complete, output)
    except OSError as error:
        raise click.ClickException(f"cannot write {output}: {error.strerror}") from None


def _copy(text: IO[str], path: Path) -> None:
    """Write a file that only its owner can read, also if it exists with another mode."""
    with open(path, "w", encoding="utf-8", opener=_open_private) as file:
        shutil.copyfileobj(text, file)


def _open_private(path: str, flags: int) -> int:
    descriptor = os.open(path, flags, 0o600)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.fchmod(descriptor, 0o600)
    return descriptor
