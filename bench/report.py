"""The result as text: facts about the machine, and tables with aligned columns."""

import os
import platform
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import Protocol

from bench.harness import BARE_NAME, FLASK_NAME, Row, percentile_ms
from ticketing import clock
from tools import ToolMissing
from tools.stack import ROOT, StackFailed

_TO_BARE = "to bare"
_HEADS = (
    "case",
    "answered by",
    "a second",
    "p50 ms",
    "p99 ms",
    "server us",
    "database us",
    _TO_BARE,
    "to Flask",
    "bound",
    "holds",
    "connections",
    "errors",
)


def run(
    parser: ArgumentParser,
    measure: Callable[[Namespace, ExitStack], tuple[str, int]],
    title: str,
    file: Path,
) -> None:
    """Measure as the command line says, print the report, and write it to `file` with --write.

    `measure` returns the report and the number of wrong results. Exit with 1 if there are any.
    """
    parser.add_argument("--write", action="store_true", help=f"write {file.relative_to(ROOT)}")
    arguments = parser.parse_args()
    try:
        with ExitStack() as running:
            report, errors = measure(arguments, running)
    except (StackFailed, ToolMissing, RuntimeError, subprocess.CalledProcessError) as error:
        sys.exit(f"bench: {error}")
    except KeyboardInterrupt:
        sys.exit("bench: interrupted")
    print(report)
    if arguments.write:
        file.write_text(
            f"# {title}\n\nHow to read it: [README.md](README.md).\n\n```\n{report}\n```\n"
        )
    if errors:
        sys.exit(f"bench: {errors} results were wrong, so the figures are not valid")


class Database(Protocol):
    """What the result says of a database."""

    @property
    def name(self) -> str:
        """The name of its kind."""

    @property
    def version(self) -> str:
        """The version of its program."""


def facts(databases: Sequence[Database]) -> list[str]:
    """Return a line each for the date, the machine, and the versions."""
    parts = [
        f"Python {platform.python_version()}",
        *(f"{name} {version(name)}" for name in ("Flask", "gunicorn")),
        *(f"{each.name} {each.version}" for each in databases),
    ]
    return [
        f"{clock.now():%Y-%m-%d %H:%M} UTC, load average before the start {os.getloadavg()[0]:.1f}",
        f"{_cpu_model()}, {os.cpu_count()} cores, Linux {platform.release()}",
        ", ".join(parts),
    ]


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def aligned(heads: Sequence[str], lines: Sequence[Sequence[str]], left: int = 1) -> str:
    """Align the first `left` columns to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(heads, *lines, strict=True)]
    text_lines = []
    for line in (heads, *lines):
        cells = [
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        text_lines.append("  ".join(cells).rstrip())
    return "\n".join(text_lines)


def of_rows(rows: Sequence[Row]) -> str:
    """Return the table of rows, each compared with the baselines of its case."""
    by_name = {(row.case.name, row.answered_by): row for row in rows}
    has_bare = any(row.answered_by == BARE_NAME for row in rows)
    heads = [head for head in _HEADS if has_bare or head != _TO_BARE]
    lines = []
    for row in rows:
        bare = by_name.get((row.case.name, BARE_NAME))
        flask = by_name[row.case.name, FLASK_NAME]
        lines.append(
            [
                row.case.name if row is (bare or flask) else "",
                row.answered_by,
                f"{row.a_second:.0f}",
                *(f"{percentile_ms(row.latencies_us, percent):.1f}" for percent in (50, 99)),
                f"{row.server_us:.0f}",
                "-" if row.database_pid is None else f"{row.database_us:.0f}",
                *([] if bare is None else [f"{row.ratio(bare):.2f}"]),
                f"{row.ratio(flask):.2f}",
                at_most(row.case.bounds.get(row.answered_by)),
                verdict(row.holds(flask)),
                ":".join(map(str, row.spread)) or "-",
                str(row.errors),
            ]
        )
    return aligned(heads, lines, left=2)


def at_most(ratio: float | None) -> str:
    """Return a bound that is a ratio."""
    return "-" if ratio is None else f"<= {ratio:g} x"


def ratio_bound(ratio: float, most: float | None) -> list[str]:
    """Return a bound that is a ratio, and whether it holds, as two cells."""
    return [at_most(most), verdict(None if most is None else ratio <= most)]


def verdict(held: bool | None) -> str:
    """Return one word for the result of a bound."""
    return "-" if held is None else "yes" if held else "NO"
