"""`make bench`: measure the cost of requests, compared with minimal servers.

Exits with 1 if a response has an unexpected status, never because of a time.
"""

import argparse
from contextlib import ExitStack
from pathlib import Path

from bench import report, size
from bench.cases import CASES
from bench.harness import measured, rows_of, say, worlds_of

RESULTS = Path(__file__).parent / "RESULTS.md"
SIZE_NAME = "start and size"


def main() -> None:
    """Measure, print the result, and write it to a file with --write."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--seconds", type=float, default=0.5, help="time per row and round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--only",
        default="",
        type=_part_of_a_name,
        metavar="SUBSTRING",
        help="measure only these cases",
    )
    parser.add_argument("--database", choices=("sqlite", "postgres"), help="default: both")
    parser.add_argument("--long", action="store_true", help="also memory after 200,000 requests")
    report.run(parser, _measure, "The last result", RESULTS)


def _part_of_a_name(text: str) -> str:
    names = [*(case.name for case in CASES), SIZE_NAME]
    if not any(text in name for name in names):
        raise argparse.ArgumentTypeError(f"it must be part of one of: {'; '.join(names)}")
    return text


def _measure(arguments: argparse.Namespace, running: ExitStack) -> tuple[str, int]:
    """Measure the selected cases. Return the report and the number of wrong responses."""
    worlds = worlds_of(arguments.database, running)
    lines, errors = report.facts(worlds), 0
    if arguments.only in SIZE_NAME:
        say(SIZE_NAME)
        # Measure this first: memory that is shared with other processes would seem to cost less.
        shown, wrong = size.measure(worlds[0], many=arguments.long)
        lines += ["", "Start and size", "", shown]
        errors += wrong
    cases = [case for case in CASES if arguments.only in case.name]
    if cases:
        rows = list(rows_of(cases, worlds, running))
        errors += measured(rows, arguments.rounds, arguments.seconds)
        lines += ["", "Requests", "", report.of_rows(rows)]
    return "\n".join(lines), errors


if __name__ == "__main__":
    main()
