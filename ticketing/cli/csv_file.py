"""Write rows as a CSV file that only its owner can read."""

import csv
import tempfile
from collections.abc import Iterable
from dataclasses import astuple, fields
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ticketing.cli import private_file
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
        private_file.write(complete, output)
