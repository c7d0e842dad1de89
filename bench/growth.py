"""`make bench-growth`: measure what a shop with a million orders costs more than an empty one.

Each request of `make bench` and `make bench-onsale` is measured on both in the same rounds. Then it
shows what takes the database longest. Exits with 1 if a response has an unexpected status, never
because of a time.
"""

import argparse
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from bench import growing, report, slowest
from bench.cases import CASES, STEPS
from bench.harness import Row, World, measured, percentile_ms, row_of, say, worlds_of
from bench.slowest import Statement, Visit

RESULTS = Path(__file__).parent / "GROWTH.md"
MOST = 1.3
"""How much CPU a request to the big shop may take, as a multiple of the empty one's."""

STATEMENTS = 10
_DATABASES = ("sqlite", "postgres")


def main() -> None:
    """Measure, print the result, and write it to a file with --write."""
    parser = argparse.ArgumentParser(prog="python -m bench.growth", description=__doc__)
    parser.add_argument("--orders", type=int, default=growing.FULL.orders)
    parser.add_argument("--rounds", type=int, default=5, help="0: only the statements")
    parser.add_argument("--seconds", type=float, default=0.5, help="time per row and round")
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="measure only these cases")
    parser.add_argument("--database", choices=_DATABASES, help="default: both")
    report.run(parser, _measure, "The last big shop", RESULTS)


def _measure(arguments: argparse.Namespace, running: ExitStack) -> tuple[str, int]:
    """Measure on each database. Return the report and the number of wrong responses."""
    lines: list[str] = []
    errors = 0
    for choice in [arguments.database] if arguments.database else _DATABASES:
        with ExitStack() as of_database:
            (empty,), (big,) = (worlds_of(choice, of_database) for _ in range(2))
            lines += ["", *report.facts([big])]
            for world in (empty, big):
                growing.open_waiting_list(world)
            say(f"{big.name}: {arguments.orders} orders")
            with ExitStack() as of_filling:
                growing.grow(big, big.start_web(of_filling), growing.part_of(arguments.orders))
            if arguments.rounds:
                table, wrong = _compared(empty, big, arguments)
                errors += wrong
                lines += ["", f"{big.name}: an empty shop, and one with {arguments.orders} orders"]
                lines += ["", table]
            lines += _database_time(empty, big)
    return "\n".join(lines[1:]), errors


def _compared(empty: World, big: World, arguments: argparse.Namespace) -> tuple[str, int]:
    """Measure each request on both shops in turn. Return the table and how many were wrong."""
    # The same request may be in both tables.
    cases = {case.request: case for case in (*STEPS, *CASES) if arguments.only in case.name}
    with ExitStack() as running:
        stacks = [world.start_web(running) for world in (empty, big)]
        rows = [
            row_of(case, world, stack)
            for case in cases.values()
            for world, stack in zip((empty, big), stacks, strict=True)
        ]
        errors = measured(rows, arguments.rounds, arguments.seconds)
    return _table(list(zip(rows[::2], rows[1::2], strict=True))), errors


def _table(pairs: Sequence[tuple[Row, Row]]) -> str:
    heads = (
        "case",
        "answered by",
        "empty us",
        "of it database",
        "big us",
        "of it database",
        "big to empty",
        "bound",
        "holds",
        "empty p50, p99 ms",
        "big p50, p99 ms",
        "errors",
    )
    lines = []
    for empty, big in pairs:
        ratio = big.ratio(empty)
        figures = [
            figure
            for row in (empty, big)
            for figure in (
                f"{row.cpu_us:.0f}",
                "-" if row.database_pid is None else f"{row.database_us:.0f}",
            )
        ]
        waits = [
            ", ".join(f"{percentile_ms(row.latencies_us, percent):.1f}" for percent in (50, 99))
            for row in (empty, big)
        ]
        wrong = str(empty.errors + big.errors)
        bound = [f"{ratio:.2f}", f"<= {MOST:g} x", report.verdict(ratio <= MOST)]
        lines.append([big.case.name, big.answered_by, *figures, *bound, *waits, wrong])
    return report.aligned(heads, lines, left=2)


def _database_time(empty: World, big: World) -> list[str]:
    """Return what pages, lists and the worker take on both shops, and the slowest statements."""
    say(f"{big.name}: pages, lists, and the worker")
    before, _ = slowest.look(empty, 0)
    visits, statements = slowest.look(big, STATEMENTS)
    lines = ["", f"{big.name}: pages, lists, files, and the worker, in one process", ""]
    lines += [_of_visits(before, visits), "", f"{big.name}: the slowest statements"]
    for number, each in enumerate(statements, 1):
        lines += ["", f"{number}. {_said(each)}", slowest.cut(each.text), each.plan]
    return lines


def _of_visits(before: Sequence[Visit], visits: Sequence[Visit]) -> str:
    lines = [
        [now.where, str(now.statements), f"{was.ms:.1f}", f"{now.ms:.1f}"]
        for was, now in zip(before, visits, strict=True)
    ]
    return report.aligned(("what", "statements", "empty ms", "big ms"), lines)


def _said(statement: Statement) -> str:
    times = f"{statement.ms:.1f} ms, {len(statement.times_ms)} runs, {statement.rows} rows"
    return f"{times}, {statement.where}"


if __name__ == "__main__":
    main()
