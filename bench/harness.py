"""The harness: databases with shops, servers, and rows that are loaded in turn."""

import math
import os
import secrets
import sqlite3
import statistics
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from bench import cpu, load
from bench.cases import POSTGRES, SQLITE, Case
from bench.shop import Shop, open_shop
from tools import anvil
from tools.namespaces import HERE, Host
from tools.postgres import Postgres
from tools.stack import Stack, StackFailed, free_port

BARE_NAME, FLASK_NAME = "bare WSGI", "Flask"
_BASELINES = {BARE_NAME: "bench.baselines:bare", FLASK_NAME: "bench.baselines:make_flask()"}
_BASELINE_READY = "/200/1"
_WARM_UP_SECONDS = 0.3
_KEPT = ("PATH", "HOME", "TMPDIR", "LANG")

# All other settings are defaults. One key and one order exceed their default limits here.
_OF_THE_LOAD = {
    "WEB_CONCURRENCY": "2",
    "TRUSTED_PROXIES": "127.0.0.1",
    "RATE_LIMIT_ADMIN": "1000000",
    "RATE_LIMIT_ORDER": "1000000",
}


@dataclass(frozen=True)
class World:
    """A database with a shop and its own two chains, and the configuration of its servers."""

    name: str
    version: str
    database_pid: int | None
    nodes: Mapping[int, anvil.Anvil]
    variables: Mapping[str, str]
    log: Path
    shop: Shop

    @property
    def node(self) -> anvil.Anvil:
        """The node of the first chain."""
        return self.nodes[anvil.CHAIN_ID]

    def start_web(
        self, running: ExitStack, more: Mapping[str, str] | None = None, on: Host = HERE
    ) -> Stack:
        """Start the web server on a host, with `more` variables. It ends with `running`.

        StackFailed.
        """
        stack = running.enter_context(_stack({**self.variables, **(more or {})}, self.log, on))
        stack.start_web(ready="/healthz")
        return stack

    def start_worker(self, running: ExitStack) -> Stack:
        """Start a worker. It ends with `running`."""
        stack = running.enter_context(_stack(self.variables, self.log))
        stack.start_worker()
        return stack


def worlds_of(choice: str | None, running: ExitStack) -> list[World]:
    """Create a shop in each database: `sqlite`, `postgres`, or None for both."""
    worlds = []
    if choice != "postgres":
        folder = new_folder(running)
        url = f"sqlite:///{folder}/service.db"
        worlds.append(world_of(SQLITE, sqlite3.sqlite_version, url, None, folder, running))
    if choice != "sqlite":
        worlds.append(world_on(running.enter_context(Postgres(durable=True)), running))
    return worlds


def world_on(server: Postgres, running: ExitStack) -> World:
    """Create a shop in a database of this server. StackFailed."""
    url, pid = server.create_database("bench"), _pid_of(server.url)
    return world_of(POSTGRES, server.version, url, pid, new_folder(running), running)


def new_folder(running: ExitStack) -> Path:
    """Create a folder that is removed with `running`."""
    return Path(running.enter_context(tempfile.TemporaryDirectory(prefix="ticketing-bench-")))


def _pid_of(url: str) -> int:
    """Return a server's first process: the parent of the process of a connection. StackFailed."""
    with psycopg.connect(url) as connection:
        pid = cpu.parent(connection.info.backend_pid)
    if pid is None or not Path(f"/proc/{pid}/comm").read_text().startswith("postgres"):
        raise StackFailed("the server of TEST_DATABASE_URL is not on this machine")
    return pid


def world_of(
    name: str, version: str, url: str, pid: int | None, folder: Path, running: ExitStack
) -> World:
    """Create a shop in a database, and sell tickets on a new chain."""
    say(f"a shop on {name}")
    log = folder / "log"
    nodes = {
        chain_id: running.enter_context(anvil.Anvil(chain_id=chain_id))
        for chain_id in anvil.CHAIN_IDS
    }
    variables = {
        "DATABASE_URL": url,
        "SECRET_KEY": secrets.token_urlsafe(48),
        "TOKEN_TTL_SECONDS": "86400",
    }
    for chain_id, node in nodes.items():
        anvil.ensure_token(node.rpc)
        variables |= {f"RPC_URL_{chain_id}": node.url, f"CONFIRMATIONS_{chain_id}": "1"}
    with _stack(variables, log) as stack:
        stack.flask("db", "upgrade")
        stack.start_web()
        shop = open_shop(stack, nodes[anvil.CHAIN_ID])
        return World(name, version, pid, nodes, variables, log, shop)


def _stack(variables: Mapping[str, str], log: Path, on: Host = HERE) -> Stack:
    """Return a stack on a free port, without variables of this process that configure it."""
    port = {"PORT": str(free_port())}
    chosen = {**_OF_THE_LOAD, **port, **variables}
    return Stack(chosen, log=log, environ=environment(), on=on)


def environment() -> dict[str, str]:
    """Return the variables of this process without those that configure the service."""
    return {name: os.environ[name] for name in _KEPT if name in os.environ}


@dataclass
class Row:
    """One case on one server, and its measurements so far.

    `slices` has the CPU microseconds per response of the server and of its database in each slice,
    `spread` the sockets of each process in the most uneven one.
    """

    case: Case
    answered_by: str
    port: int
    request: str
    server_pid: int
    database_pid: int | None = None
    seconds: float = 0.0
    latencies_us: list[int] = field(default_factory=list)
    errors: int = 0
    slices: list[tuple[float, float]] = field(default_factory=list)
    spread: tuple[int, ...] = ()

    def take(self, seconds: float, *, is_warm: bool = True) -> None:
        """Run one slice, and add its measurements. If it `is_warm`, all of them; else errors."""
        before = self._used_us()
        middle = threading.Timer(seconds / 2, self._look_at_connections)
        middle.start()
        result = repeat(self, seconds)
        middle.cancel()
        after = self._used_us()
        self.errors += sum(result["wrong"].values())
        if is_warm:
            count = max(1, len(result["latencies_us"]))
            self.slices.append(((after[0] - before[0]) / count, (after[1] - before[1]) / count))
            self.latencies_us += result["latencies_us"]
            self.seconds += result["seconds"]

    def _look_at_connections(self) -> None:
        """Note how many sockets each process has: of all slices, the most uneven one."""
        found = cpu.sockets(self.server_pid)
        if found and (not self.spread or found[-1] - found[0] > self.spread[-1] - self.spread[0]):
            self.spread = tuple(found)

    def _used_us(self) -> tuple[float, float]:
        pids = (self.server_pid, self.database_pid)
        server, database = (cpu.seconds(pid) * 1e6 if pid is not None else 0.0 for pid in pids)
        return server, database

    @property
    def a_second(self) -> float:
        """Right responses per second."""
        return len(self.latencies_us) / self.seconds if self.seconds else 0.0

    @property
    def server_us(self) -> float:
        """CPU time of the server per response, in microseconds: the median of the slices."""
        return statistics.median(server for server, _ in self.slices)

    @property
    def database_us(self) -> float:
        """CPU time of the database per response, in microseconds: the median of the slices."""
        return statistics.median(database for _, database in self.slices)

    @property
    def cpu_us(self) -> float:
        """CPU time per response, of the server and its database, in microseconds.

        The median of the slices: other work on the machine disturbs some of them.
        """
        return statistics.median(map(sum, self.slices))

    def ratio(self, to: "Row") -> float:
        """Return the CPU per response relative to another row."""
        return self.cpu_us / to.cpu_us if to.cpu_us else math.nan

    def holds(self, flask: "Row") -> bool | None:
        """Return whether it meets its bound, compared with Flask's row. None without a bound."""
        bound = self.case.bounds.get(self.answered_by)
        return None if bound is None else self.ratio(flask) <= bound


def repeat(row: Row, seconds: float, requests: int | None = None) -> dict[str, Any]:
    """Repeat a row's request. Return `wrong`, `latencies_us`, `seconds` and a body's `size`."""
    job = {"hosts": ["127.0.0.1"], "port": row.port, "requests": [row.request]}
    job |= {"status": str(row.case.status), "seconds": seconds, "count": requests}
    result = load.run("repeat", job)
    return {**result["steps"]["repeat"], "seconds": result["seconds"], "size": result["size"]}


def percentile_ms(latencies_us: Sequence[int], percent: int) -> float:
    """Return a percentile of latencies, in milliseconds."""
    if len(latencies_us) < 2:
        return sum(latencies_us) / 1000
    return statistics.quantiles(latencies_us, n=100)[percent - 1] / 1000


def row_of(case: Case, world: World, stack: Stack) -> Row:
    """Return the row of a case on the service."""
    request = case.request(world.shop).to(stack.port).decode("latin-1")
    return Row(case, world.name, stack.port, request, stack.pid(), world.database_pid)


def rows_of(
    cases: Sequence[Case],
    worlds: Sequence[World],
    running: ExitStack,
    names: Sequence[str] = (BARE_NAME, FLASK_NAME),
) -> Iterator[Row]:
    """Start all servers, and yield a row for each case and server.

    The baselines with these `names` come first.
    """
    services = [world.start_web(running) for world in worlds]
    first = worlds[0]
    paths = {}
    for case in cases:
        size = repeat(row_of(case, first, services[0]), 3600, 1)["size"]
        paths[case.name] = f"/{case.status}/{size}"
    # The same variables, so that gunicorn has the same settings.
    answers = " ".join([_BASELINE_READY, *paths.values()])
    baselines = {}
    for name in names:
        fixed = {**first.variables, "BENCH_ANSWERS": answers}
        baselines[name] = running.enter_context(_stack(fixed, first.log))
        baselines[name].start_web(_BASELINES[name], ready=_BASELINE_READY)
    for case in cases:
        for name, stack in baselines.items():
            request = case.request(first.shop).to(stack.port, paths[case.name])
            yield Row(case, name, stack.port, request.decode("latin-1"), stack.pid())
        for world, stack in zip(worlds, services, strict=True):
            yield row_of(case, world, stack)


def measured(rows: Sequence[Row], rounds: int, seconds: float) -> int:
    """Run all rows in turn, several times, so that drift affects all rows equally.

    Return the number of wrong responses.
    """
    for number in range(rounds + 1):
        said = None
        for row in rows:
            if row.case.name != said:
                said = row.case.name
                say(f"round {number} of {rounds}: {said}" if number else f"warming up: {said}")
            row.take(seconds if number else _WARM_UP_SECONDS, is_warm=number > 0)
    return sum(row.errors for row in rows)


def say(what: str) -> None:
    """Print a line about the progress."""
    print(what, file=sys.stderr, flush=True)
