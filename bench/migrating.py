"""`make bench-migrating`: migrate a database with many orders while the version before serves.

Visitors read and order meanwhile. It measures the longest wait of a request, and compares all
counts and sums before and after. Exits with 1 if one differs, or if a response has an unexpected
status, never because of a time.
"""

import argparse
import secrets
import sqlite3
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import urllib3

from bench import filling, report
from bench.cases import POSTGRES, SQLITE
from bench.filling import TENANT, Filled
from bench.harness import environment, say
from bench.shop import Organizer
from ticketing.db import migrate
from ticketing.db.connection import database, open_database
from ticketing.limits import CallClass
from tools import anvil, releases
from tools.json_client import Client
from tools.postgres import Postgres
from tools.stack import ROOT, Stack, free_port

RESULTS = Path(__file__).parent / "MIGRATING.md"
VISITORS = 6
PAUSE_SECONDS = 0.02
QUIET_SECONDS = 5.0
"""How long visitors are measured before the migration begins, and after it ended."""

READ, POLL, ORDER = "event", "poll", "order"
_WHAT = (READ, POLL, ORDER)
# The version before does not know the limit of guesses.
_KNOWN = [each for each in CallClass if each is not CallClass.GUESS]
_LIMITS = {f"RATE_LIMIT_{each.upper()}": "0" for each in _KNOWN}
_LIMITS |= dict.fromkeys(("UNPAID_PER_ADDRESS", "ORDERS_PER_CLIENT", "FREE_PER_CLIENT"), "0")


class Seen(NamedTuple):
    """One request: what it was, when it began and ended, and its status or its failure."""

    what: str
    began: float
    ended: float
    outcome: int | str


@dataclass(frozen=True)
class Empty:
    """An empty database."""

    name: str
    version: str
    url: str


@dataclass(frozen=True)
class Result:
    """What was measured on one database. `wrong` is empty if all is right."""

    database: str
    orders: int
    seconds: float
    before: list[Seen]
    during: list[Seen]
    wrong: list[str]


def main() -> None:
    """Measure, print the result, and write it to a file with --write."""
    arguments = _arguments()
    file = RESULTS if arguments.write else None
    report.show(partial(_measure, arguments), "The last migration of many orders", file)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.migrating", description=__doc__)
    parser.add_argument("--orders", type=int, default=100_000)
    parser.add_argument("--database", choices=("sqlite", "postgres"), help="default: both")
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.relative_to(ROOT)}")
    return parser.parse_args()


def _measure(arguments: argparse.Namespace, running: ExitStack) -> tuple[str, int]:
    """Measure on each database. Return the report and the number of wrong results."""
    folder = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="ticketing-bench-")))
    databases = list(_databases(arguments.database, folder, running))
    root = releases.unpack(releases.LAST, folder / "before")
    results = [_migrated(each, arguments.orders, root, folder) for each in databases]
    wrong = [f"WRONG {each.database}: {what}" for each in results for what in each.wrong]
    said = f"From {releases.LAST}, which serves {VISITORS} visitors meanwhile"
    lines = [*report.facts(databases), "", said, "", _table(results)]
    return "\n".join([*lines, *([""] if wrong else []), *wrong]), len(wrong)


def _databases(choice: str | None, folder: Path, running: ExitStack) -> Iterator[Empty]:
    if choice != "postgres":
        yield Empty(SQLITE, sqlite3.sqlite_version, f"sqlite:///{folder}/service.db")
    if choice != "sqlite":
        server = running.enter_context(Postgres(durable=True))
        yield Empty(POSTGRES, server.version, server.create_database("migrating"))


def _migrated(empty: Empty, orders: int, root: Path, folder: Path) -> Result:
    """Fill a database by the version before, migrate it, and compare."""
    with ExitStack() as running:
        node = running.enter_context(anvil.Anvil())
        anvil.ensure_token(node.rpc)
        variables = {
            **_LIMITS,
            "DATABASE_URL": empty.url,
            "SECRET_KEY": secrets.token_urlsafe(48),
            "RPC_URL_31337": node.url,
            "CONFIRMATIONS_31337": "1",
            "POLL_SECONDS": "0.2",
            "WEB_CONCURRENCY": "2",
            "PORT": str(free_port()),
        }
        log, environ = folder / f"{empty.name}.log", environment()
        before = running.enter_context(Stack(variables, log=log, environ=environ, root=root))
        variables["PORT"] = str(free_port())
        now = running.enter_context(Stack(variables, log=log, environ=environ))
        before.flask("db", "upgrade")
        before.start_web()
        say(f"{empty.name}: {orders} orders")
        filled = filling.fill(before, node, orders)
        counted, said = filling.figures(filled), filling.said(filled, filled.organizer.ask)
        say(f"{empty.name}: migration")
        with _visitors(before, filled) as seen:
            time.sleep(QUIET_SECONDS)
            began = time.monotonic()
            _migrate(empty.url)
            ended = time.monotonic()
            time.sleep(QUIET_SECONDS)
        say(f"{empty.name}: comparison")
        now.start_web()
        wrong = [f"{what}: {times} times" for what, times in _unexpected(seen).items()]
        for name, stack in (("the version before", before), ("this version", now)):
            heard = filling.said(filled, Organizer(stack, filled.key, TENANT).ask)
            wrong += _differences(f"{name} says", said, heard)
        wrong += _differences("in the database:", counted, filling.figures(filled))
        released = filling.released(filled)
        if released.pop("unlike") or len(set(released.values())) != 1:
            wrong.append(f"released: {released}")
        now.flask("reconcile")  # StackFailed if the books are not right
        return Result(
            empty.name,
            orders,
            ended - began,
            [each for each in seen if each.ended < began],
            [each for each in seen if each.ended >= began and each.began <= ended],
            wrong,
        )


def _migrate(url: str) -> None:
    """Do what `db upgrade` of this version does, without the start of a process."""
    open_database(url)
    try:
        migrate.upgrade()
    finally:
        database.close()


@contextmanager
def _visitors(stack: Stack, filled: Filled) -> Iterator[list[Seen]]:
    """Read, poll and order all the time. Yield what was seen, which grows meanwhile."""
    seen: list[Seen] = []
    done = threading.Event()
    visit = partial(_visit, stack.url, filled, seen, done)
    threads = [threading.Thread(target=visit, args=(n,)) for n in range(VISITORS)]
    for thread in threads:
        thread.start()
    try:
        yield seen
    finally:
        done.set()
        for thread in threads:
            thread.join()


def _visit(url: str, filled: Filled, seen: list[Seen], done: threading.Event, number: int) -> None:
    client, checkout = Client(url), f"/v1/checkout/tenants/{TENANT}"
    body = {"event_id": filled.other_event_id, "ticket_id": filled.other_ticket_id}
    listing = f"/v1/public/tenants/{TENANT}/events/{filled.other_event_id}/tickets"
    intent = client.send("POST", f"{checkout}/preflight", body).json
    own = f"{checkout}/intents/{intent['id']}"
    requests: dict[str, tuple[str, str, Any, dict[str, str]]] = {
        READ: ("GET", listing, None, {}),
        POLL: ("GET", own, None, {"Authorization": f"Bearer {intent['client_secret']}"}),
        ORDER: ("POST", f"{checkout}/preflight", body, {}),
    }
    while not done.wait(PAUSE_SECONDS):
        what = _WHAT[number % len(_WHAT)]
        began = time.monotonic()
        outcome: int | str
        try:
            outcome = client.send(*requests[what]).status
        except urllib3.exceptions.HTTPError as error:
            outcome = type(error).__name__
        seen.append(Seen(what, began, time.monotonic(), outcome))


def _unexpected(seen: Sequence[Seen]) -> Counter[str]:
    return Counter(
        f"{each.what}: {each.outcome}"
        for each in seen
        if each.outcome != (201 if each.what == ORDER else 200)
    )


def _differences(whose: str, was: dict[str, Any], now: dict[str, Any]) -> list[str]:
    return [
        f"{whose} {name} {now[name]}, not {was[name]}" for name in was if now[name] != was[name]
    ]


def _table(results: Sequence[Result]) -> str:
    lines = []
    for result in results:
        for what in _WHAT:
            waits = [_longest_ms(each, what) for each in (result.before, result.during)]
            count = str(sum(each.what == what for each in result.during))
            migration = f"{result.seconds:.1f}"
            lines.append([result.database, what, str(result.orders), migration, count, *waits])
    heads = (
        "answered by",
        "request",
        "orders",
        "migration s",
        "requests",
        "longest before ms",
        "longest meanwhile ms",
    )
    return report.aligned(heads, lines, left=2)


def _longest_ms(seen: Sequence[Seen], what: str) -> str:
    waits = [each.ended - each.began for each in seen if each.what == what]
    return f"{max(waits, default=0) * 1000:.0f}"


if __name__ == "__main__":
    main()
