"""Format the result as text tables with aligned columns."""

from collections.abc import Sequence

from bench.rows import Row, holds, ratio

_HEADS = (
    "case",
    "answered by",
    "a second",
    "p50 ms",
    "p99 ms",
    "server us",
    "database us",
    "to bare",
    "to Flask",
    "bound",
    "holds",
    "errors",
)


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


def of_rows(rows: Sequence[Row], bare: str, flask: str) -> str:
    """Return the table of rows, each compared with the two baselines of its case."""
    by_name = {(row.case, row.answered_by): row for row in rows}
    lines = []
    before = ""
    for row in rows:
        first = row.case if row.case != before else ""
        before = row.case
        to_bare, to_flask = by_name.get((row.case, bare)), by_name.get((row.case, flask))
        lines.append([first, *_cells(row, to_bare, to_flask)])
    return aligned(_HEADS, lines, left=2)


def verdict(held: bool | None) -> str:
    """Return one word for the result of a bound."""
    return "-" if held is None else "yes" if held else "NO"


def _cells(row: Row, bare: Row | None, flask: Row | None) -> list[str]:
    return [
        row.answered_by,
        f"{row.a_second:.0f}",
        f"{row.latency_ms(50):.1f}",
        f"{row.latency_ms(99):.1f}",
        _number(row.server_us if row.server_pid else None, 0),
        _number(row.database_us if row.database_pid else None, 0),
        _number(ratio(row, bare), 2),
        _number(ratio(row, flask), 2),
        str(row.bound or "-"),
        verdict(holds(row, flask)),
        str(row.errors),
    ]


def _number(value: float | None, places: int) -> str:
    return "-" if value is None else f"{value:.{places}f}"
