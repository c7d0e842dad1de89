"""Write a file that only its owner can read."""

import os
import shutil
import stat
import sys
from pathlib import Path
from typing import IO

import click

output_option = click.option(
    "--output",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    default="-",
    help="The file to write. Only its owner can read it. Default: standard output.",
)


def write(text: IO[str], output: Path) -> None:
    """Copy all of a text to a file, also if that exists with another mode. `-` is standard output.

    ClickException if it cannot be written.
    """
    text.seek(0)
    if output == Path("-"):
        shutil.copyfileobj(text, sys.stdout)
        return
    try:
        with open(output, "w", encoding="utf-8", opener=_open_private) as file:
            shutil.copyfileobj(text, file)
    except OSError as error:
        raise click.ClickException(f"cannot write {output}: {error.strerror}") from None


def _open_private(path: str, flags: int) -> int:
    descriptor = os.open(path, flags, 0o600)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.fchmod(descriptor, 0o600)
    return descriptor
