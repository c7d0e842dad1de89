"""`make bench`: measure the cost of requests, compared with minimal servers.

Exits with 1 if a response has an unexpected status, never because of a time.
"""

import argparse
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench import databases, load, machine, plain_sql, servers, size, table
from bench.cases import CASES, Case
from bench.databases import Database
from bench.rows import Row
from bench.servers import BARE, FLASK, SERVICE, Server, ServerFailed
from bench.shop import Shop, open_shop
from tools import ToolMissing, anvil
from tools.stack import ROOT

RESULTS = Path(__file__).parent / "RESULTS.md"
BARE_NAME, FLASK_NAME = "bare WSGI", "Flask"
PLAIN_NAME = "plain SQL, hold and insert"
SIZE_NAME, WATCHER_NAME = "start and size", "watcher"
WARM_UP_SECONDS = 0.3


@dataclass(frozen=True)
class World:
    """A database with a shop, and the configuration of its servers."""

    database: Database
    variables: dict[str, str]
    shop: Shop


def main() -> None:
    """Measure, print the result, and write it to a file with --write."""
    arguments = _arguments()
    try:
        with ExitStack() as running:
            report, errors = _measure(arguments, running)
    except (ServerFailed, ToolMissing, RuntimeError, subprocess.CalledProcessError) as error:
        sys.exit(f"bench: {error}")
    except KeyboardInterrupt:
        sys.exit("bench: interrupted")
    print(report)
    if arguments.write:
        RESULTS.write_text(
            f"# The last result\n\nHow to read it: [README.md](README.md).\n\n```\n{report}\n```\n"
        )
    if errors:
        sys.exit(f"bench: {errors} responses were wrong, so the figures are not valid")


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
        _say(SIZE_NAME)
        # Measure this first: memory that is shared with other processes would seem to cost less.
        shown, wrong = size.measure(worlds[0].shop, worlds[0].variables, log, many=arguments.long)
        report += ["", "Start and size", "", shown]
        errors += wrong
    rows = list(_rows(cases, worlds, log, running)) if cases else []
    if arguments.only in PLAIN_NAME:
        rows += map(_plain_row, chosen)
    if rows:
        _take(rows, arguments.rounds, arguments.seconds)
        report += ["", "Requests", "", table.of_rows(rows, BARE_NAME, FLASK_NAME)]
        errors += sum(row.errors for row in rows)
    if arguments.only in WATCHER_NAME:
        _say(WATCHER_NAME)
        report += ["", "The watcher", "", _watcher()]
    return "\n".join(report), errors


def databases_of(choice: str | None, folder: Path, running: ExitStack) -> Iterator[Database]:
    """Yield the running databases to measure."""
    if choice != "postgres":
        yield databases.sqlite(folder)
    if choice != "sqlite":
        yield databases.postgres(running)


def worlds_of(chosen: Sequence[Database], log: Path) -> list[World]:
    """Create a shop in each database."""
    worlds = []
    for database in chosen:
        _say(f"a shop on {database.name}")
        # Each shop has its own chain: the service rejects an account that was already paid to.
        with anvil.Anvil() as node:
            anvil.ensure_token(node.rpc)
            variables = {
                "DATABASE_URL": database.url,
                "SECRET_KEY": secrets.token_urlsafe(48),
                "TOKEN_TTL_SECONDS": "86400",
                "RPC_URL_31337": node.url,
                "CONFIRMATIONS_31337": "1",
            }
            servers.flask(variables, "db", "upgrade")
            with Server(SERVICE, variables, log) as server:
                worlds.append(World(database, variables, open_shop(server, variables, node)))
    return worlds


def _rows(
    cases: Sequence[Case], worlds: Sequence[World], log: Path, running: ExitStack
) -> Iterator[Row]:
    """Start all servers, and yield a row for each server and case."""
    services = [running.enter_context(Server(SERVICE, world.variables, log)) for world in worlds]
    first, shop = services[0], worlds[0].shop
    paths = {
        case.name: f"/{case.status}/{load.body_size(first.port, case.request(shop).to(first.port))}"
        for case in cases
    }
    # The same variables, so that gunicorn has the same settings.
    fixed = {**worlds[0].variables, "BENCH_ANSWERS": " ".join(paths.values())}
    baselines = [
        (name, running.enter_context(Server(app, fixed, log)))
        for name, app in ((BARE_NAME, BARE), (FLASK_NAME, FLASK))
    ]
    for case in cases:
        for name, server in baselines:
            request = case.request(shop).to(server.port, paths[case.name])
            yield _row(case, name, server, request)
        for world, server in zip(worlds, services, strict=True):
            name = world.database.name
            row = _row(case, name, server, case.request(world.shop).to(server.port))
            row.database_pid, row.bound = world.database.pid, case.bounds[name]
            yield row


def _row(case: Case, answered_by: str, server: Server, request: bytes) -> Row:
    def run(seconds: float) -> load.Load:
        return load.run(server.port, request, seconds=seconds)

    return Row(case.name, answered_by, str(case.status), run, server.pid)


def _plain_row(database: Database) -> Row:
    plain_sql.prepare(database.plain_url)
    run = partial(plain_sql.run, database.plain_url)
    return Row(PLAIN_NAME, database.name, plain_sql.DONE, run, database_pid=database.pid)


def _take(rows: Sequence[Row], rounds: int, seconds: float) -> None:
    """Run all rows in turn, several times, so that drift affects all rows equally."""
    for number in range(rounds + 1):
        said = None
        for row in rows:
            if row.case != said:
                said = row.case
                _say(f"round {number} of {rounds}: {said}" if number else f"warming up: {said}")
            if number:
                row.take(seconds)
            else:
                row.warm_up(WARM_UP_SECONDS)


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


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
