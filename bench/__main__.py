"""`make bench`: measure the cost of requests, compared with minimal servers.

Exits with 1 if a response has an unexpected status, never because of a time.
"""

import argparse
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from bench import machine, plain_sql, servers, size, table
from bench.cases import CASES
from bench.databases import Database
from bench.results import show
from bench.rounds import BARE_NAME, FLASK_NAME, databases_of, rows_of, say, take, worlds_of
from bench.rows import Row
from tools.stack import ROOT

RESULTS = Path(__file__).parent / "RESULTS.md"
PLAIN_NAME = "plain SQL, hold and insert"
SIZE_NAME, WATCHER_NAME = "start and size", "watcher"


def main() -> None:
    """Measure, print the result, and write it to a file with --write."""
    arguments = _arguments()
    show(partial(_measure, arguments), "The last result", RESULTS if arguments.write else None)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--seconds", type=float, default=0.5, help="time per row and round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="measure only these cases")
    parser.add_argument("--database", choices=("sqlite", "postgres"), help="default: both")
    parser.add_argument("--long", action="store_true", help="also memory after 200,000 requests")
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.relative_to(ROOT)}")
    arguments = parser.parse_args()
    names = [*(case.name for case in CASES), PLAIN_NAME, SIZE_NAME, WATCHER_NAME]
    if not any(arguments.only in name for name in names):
        parser.error(f"--only must be part of one of: {'; '.join(names)}")
    return arguments


def _measure(arguments: argparse.Namespace, running: ExitStack) -> tuple[str, int]:
    """Measure the selected cases. Return the report and the number of wrong responses."""
    folder = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="ticketing-bench-")))
    log = folder / "log"
    chosen = list(databases_of(arguments.database, folder, running))
    report = machine.facts(chosen)
    errors = 0
    cases = [case for case in CASES if arguments.only in case.name]
    sized = arguments.only in SIZE_NAME
    worlds = worlds_of(chosen, log) if cases or sized else []
    if sized:
        say(SIZE_NAME)
        # Measure this first: memory that is shared with other processes would seem to cost less.
        shown, wrong = size.measure(worlds[0].shop, worlds[0].variables, log, many=arguments.long)
        report += ["", "Start and size", "", shown]
        errors += wrong
    rows = list(rows_of(cases, worlds, log, running)) if cases else []
    if arguments.only in PLAIN_NAME:
        rows += map(_plain_row, chosen)
    if rows:
        take(rows, arguments.rounds, arguments.seconds)
        report += ["", "Requests", "", table.of_rows(rows, BARE_NAME, FLASK_NAME)]
        errors += sum(row.errors for row in rows)
    if arguments.only in WATCHER_NAME:
        say(WATCHER_NAME)
        report += ["", "The watcher", "", _watcher()]
    return "\n".join(report), errors


def _plain_row(database: Database) -> Row:
    plain_sql.prepare(database.plain_url)
    run = partial(plain_sql.run, database.plain_url)
    return Row(PLAIN_NAME, database.name, plain_sql.DONE, run, database_pid=database.pid)


def _watcher() -> str:
    # It runs in its own process, because it opens other databases.
    done = subprocess.run(
        [sys.executable, "-m", "bench.watcher"],
        cwd=ROOT,
        env=servers.environment({}),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout.rstrip()


if __name__ == "__main__":
    main()
