"""Rounds of rows: databases with shops, a row for each server and case, all run in turn."""

import secrets
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench import databases, load, servers
from bench.cases import Case
from bench.databases import Database
from bench.rows import Row
from bench.servers import BARE, FLASK, SERVICE, Server
from bench.shop import Shop, open_shop
from tools import anvil

BARE_NAME, FLASK_NAME = "bare WSGI", "Flask"
WARM_UP_SECONDS = 0.3


@dataclass(frozen=True)
class World:
    """A database with a shop, and the configuration of its servers."""

    database: Database
    variables: dict[str, str]
    shop: Shop


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
        # Each shop has its own chain: the service rejects an account that was already paid to.
        with anvil.Anvil() as node:
            worlds.append(world_of(database, node, log))
    return worlds


def world_of(database: Database, node: anvil.Anvil, log: Path) -> World:
    """Create a shop in a database, and sell one ticket on a new chain."""
    say(f"a shop on {database.name}")
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
        return World(database, variables, open_shop(server, variables, node))


def rows_of(
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
            row.database_pid, row.bound = world.database.pid, case.bounds.get(name)
            yield row


def _row(case: Case, answered_by: str, server: Server, request: bytes) -> Row:
    def run(seconds: float) -> load.Load:
        return load.run(server.port, request, seconds=seconds)

    return Row(case.name, answered_by, str(case.status), run, server.pid)


def take(rows: Sequence[Row], rounds: int, seconds: float) -> None:
    """Run all rows in turn, several times, so that drift affects all rows equally."""
    for number in range(rounds + 1):
        said = None
        for row in rows:
            if row.case != said:
                said = row.case
                say(f"round {number} of {rounds}: {said}" if number else f"warming up: {said}")
            if number:
                row.take(seconds)
            else:
                row.warm_up(WARM_UP_SECONDS)


def say(what: str) -> None:
    """Print a line about the progress."""
    print(what, file=sys.stderr, flush=True)
