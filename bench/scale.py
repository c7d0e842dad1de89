"""`make bench-scale`: measure two web hosts, PgBouncer and Postgres, and calculate more hosts.

Each web host is a network namespace with one process and one core of this machine. Needs Linux and
root with CAP_SYS_ADMIN and CAP_NET_ADMIN. Exits with 1 if a response has an unexpected status,
never because of a time.
"""

import argparse
import os
import statistics
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from bench import capacity, cpu, load, report
from bench.activity import DOING, Activity
from bench.cases import POSTGRES, STEPS, Request
from bench.harness import World, percentile_ms, say, world_of
from bench.shop import Organizer
from tools import anvil
from tools.daemons import PgBouncer
from tools.namespaces import Host, Network
from tools.postgres import Postgres
from tools.stack import Stack

RESULTS = Path(__file__).parent / "SCALE.md"
TENANTS = 8
PORT = 8000
_SPREAD, _POLL = f"order, {TENANTS} tenants", "poll, nothing changed"
_OF_SHOP = ("order, the API", _POLL)
_DIRECT, _POOLED, _PREPARED = "direct", "PgBouncer", "PgBouncer, prepared"
_WARM_UP_SECONDS = 0.5
_FULL = 0.9
"""A part that uses so much of what it may have is full."""


@dataclass(frozen=True)
class Way:
    """How two web hosts reach Postgres: directly, or through the pooler with a pid."""

    name: str
    hosts: Sequence[Host]
    webs: Sequence[Stack]
    pooler_pid: int | None = None


@dataclass
class Row:
    """Requests to the first hosts of a way, and their measurements so far."""

    case: str
    way: Way
    hosts: int
    job: Mapping[str, object]
    slices: list[dict[str, float]] = field(default_factory=list)
    """The CPU of each part in each slice, in microseconds a response."""
    latencies_us: list[int] = field(default_factory=list)
    seconds: float = 0.0
    wrong: Counter[str] = field(default_factory=Counter)
    doing: list[Mapping[str, float]] = field(default_factory=list)

    @property
    def a_second(self) -> float:
        """Right responses a second."""
        return len(self.latencies_us) / self.seconds if self.seconds else 0.0

    def us(self, part: str) -> float:
        """Return the CPU of a part in microseconds a response: the median of the slices."""
        return statistics.median(each[part] for each in self.slices)

    def cores(self, part: str) -> float:
        """Return how many cores a part uses at this rate."""
        return self.us(part) * self.a_second / 1e6

    def waits(self, what: str) -> float:
        """Return how many connections of Postgres do this, on average."""
        return statistics.mean(each[what] for each in self.doing)

    @property
    def full(self) -> str:
        """What is full at this rate."""
        if sum(map(self.cores, _PARTS)) >= _FULL * (os.cpu_count() or 1):
            return "this machine"
        for part in _PARTS[: self.hosts]:
            if self.cores(part) >= _FULL:
                return part
        return "the row's lock" if self.waits("row lock") >= 1 else "-"


_WEBS = ("web A", "web B")
_PARTS = (*_WEBS, "PgBouncer", "Postgres", "worker", "load")


@dataclass(frozen=True)
class Bench:
    """Everything that runs."""

    world: World
    ways: Sequence[Way]
    worker: Stack
    activity: Activity

    def take(self, row: Row, seconds: float, *, is_warm: bool) -> None:
        """Run one slice of a row, and add its measurements. If not `is_warm`, errors only."""
        before = self._used(row.way)
        with self.activity.watched() as doing:
            result = load.run("repeat", {**row.job, "seconds": seconds, "count": None})
        after = self._used(row.way)
        self.worker.check()
        step = result["steps"]["repeat"]
        row.wrong.update(step["wrong"])
        if is_warm:
            count = max(1, len(step["latencies_us"]))
            used = {part: (after[part] - before[part]) * 1e6 / count for part in after}
            row.slices.append({**used, "load": result["cpu_seconds"] * 1e6 / count})
            row.latencies_us += step["latencies_us"]
            row.seconds += result["seconds"]
            row.doing.append(doing)

    def _used(self, way: Way) -> dict[str, float]:
        pids = dict(zip(_WEBS, (web.pid() for web in way.webs), strict=True))
        pids |= {"worker": self.worker.pid("worker")}
        found = {part: cpu.seconds(pid) for part, pid in pids.items()}
        pooler, postgres = way.pooler_pid, self.world.database_pid
        found["PgBouncer"] = cpu.seconds(pooler) if pooler else 0.0
        found["Postgres"] = cpu.seconds(postgres) if postgres else 0.0
        return found


def main() -> None:
    """Measure, print the result, and write it to a file with --write."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.5, help="of a row in a round")
    parser.add_argument("--pool", type=int, default=4, help="PgBouncer's connections to Postgres")
    parser.add_argument("--delay-ms", type=float, default=0.0, help="what a web host sends is late")
    report.run(parser, _measure, "Two hosts and PgBouncer", RESULTS)


def _measure(arguments: argparse.Namespace, running: ExitStack) -> tuple[str, int]:
    """Measure everything. Return the report and the number of wrong results."""
    bench = _start(arguments, running)
    rows = _rows(bench)
    for number in range(arguments.rounds + 1):
        say(f"round {number} of {arguments.rounds}" if number else "warming up")
        for row in rows:
            seconds = arguments.seconds if number else _WARM_UP_SECONDS
            bench.take(row, seconds, is_warm=number > 0)
    delay = f", {arguments.delay_ms:g} ms later" if arguments.delay_ms else ""
    lines = report.facts([bench.world])
    lines[-1] += f", PgBouncer {PgBouncer.version()}"
    lines += [f"a web host: one process, one core{delay}; PgBouncer: {arguments.pool} connections"]
    lines += ["", "CPU, us a response", "", _costs(rows), "", "Cores in use", "", _saturation(rows)]
    lines += ["", "Connections of Postgres, on average", "", _doing(rows)]
    lines += ["", "Calculated", "", capacity.assumptions(), "", _capacity(bench, rows)]
    wrong = [f"WRONG {row.case}, {row.way.name}: {what}" for row in rows for what in row.wrong]
    return "\n".join([*lines, *wrong]), sum(sum(row.wrong.values()) for row in rows)


def _start(arguments: argparse.Namespace, running: ExitStack) -> Bench:
    """Start hosts, databases and servers. They end with `running`. ToolMissing, StackFailed."""
    network = running.enter_context(Network())
    cores = range(os.cpu_count() or 1)
    hosts = [
        network.join(core=cores[number % len(cores)], delay_ms=arguments.delay_ms)
        for number in range(len(_WEBS))
    ]
    of_database = network.join()
    server = running.enter_context(Postgres(durable=True, own=True, on=of_database))
    folder = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="ticketing-bench-")))
    url = server.create_database("bench")
    world = world_of(POSTGRES, server.version, url, server.pid, folder, running)

    variables = {"WEB_CONCURRENCY": "1", "TRUSTED_PROXIES": network.address}

    def way(name: str, number: int, url: str, pooler: PgBouncer | None) -> Way:
        own = {**variables, "PORT": str(PORT + number), "DATABASE_URL": url}
        webs = [world.start_web(running, own, host) for host in hosts]
        return Way(name, hosts, webs, pooler.pid if pooler else None)

    def pooled(*, prepares: bool) -> PgBouncer:
        start = partial(PgBouncer, server.url, pool_size=arguments.pool, on=of_database)
        return running.enter_context(start(prepares=prepares))

    ways = [way(_DIRECT, 0, url, None)]
    plain = pooled(prepares=False)
    ways.append(way(_POOLED, 1, f"{plain.url_of(url)}?pgbouncer=true", plain))
    if PgBouncer.can_prepare():
        pooler = pooled(prepares=True)
        ways.append(way(_PREPARED, 2, f"{pooler.url_of(url)}?pgbouncer=prepares", pooler))
    activity = running.enter_context(Activity(url))
    return Bench(world, ways, world.start_worker(running), activity)


def _rows(bench: Bench) -> list[Row]:
    """Return the rows: each request, through each way, to one host and to both."""
    shop = bench.world.shop
    jobs = [
        (case.name, case.status, [case.request(shop)]) for case in STEPS if case.name in _OF_SHOP
    ]
    jobs.insert(1, (_SPREAD, 201, _orders(bench)))
    rows = []
    for name, status, requests in jobs:
        for way in bench.ways:
            port = way.webs[0].port
            texts = [request.to(port).decode("latin-1") for request in requests]
            job = {"port": port, "requests": texts, "status": str(status)}
            for few in range(1, len(way.hosts) + 1):
                hosts = [host.address for host in way.hosts[:few]]
                rows.append(Row(name, way, few, {**job, "hosts": hosts}))
    return rows


def _orders(bench: Bench) -> list[Request]:
    """Return orders of new tenants, each with a ticket type: they lock no row of each other."""
    stack, requests = bench.ways[0].webs[0], []
    for number in range(TENANTS):
        slug = f"scale-{number}"
        key = stack.create_tenant(slug, slug, *anvil.SELLER_WALLET)
        organizer = Organizer(stack, key, slug)
        event_id = organizer.event("Quiet Night")
        body = {"event_id": event_id, "ticket_id": organizer.ticket(event_id, "Seat", None)}
        requests.append(Request("POST", f"/v1/checkout/tenants/{slug}/preflight", body=body))
    return requests


def _table(rows: Sequence[Row], heads: Sequence[str], of: Callable[[Row], list[str]]) -> str:
    lines = [[row.case, row.way.name, str(row.hosts), *of(row)] for row in rows]
    return report.aligned(("request", "through", "hosts", *heads), lines, left=2)


def _costs(rows: Sequence[Row]) -> str:
    def figures(row: Row) -> list[str]:
        latencies = [f"{percentile_ms(row.latencies_us, percent):.1f}" for percent in (50, 99)]
        parts = [f"{row.us(part):.0f}" for part in _PARTS]
        all_parts = f"{sum(map(row.us, _PARTS)):.0f}"
        return [f"{row.a_second:.0f}", *latencies, *parts, all_parts, str(row.wrong.total())]

    return _table(rows, ("a second", "p50 ms", "p99 ms", *_PARTS, "all", "errors"), figures)


def _saturation(rows: Sequence[Row]) -> str:
    def figures(row: Row) -> list[str]:
        parts = [row.cores(part) for part in _PARTS]
        return [*(f"{cores:.2f}" for cores in parts), f"{sum(parts):.2f}", row.full]

    return _table(rows, (*_PARTS, "all", "full"), figures)


def _doing(rows: Sequence[Row]) -> str:
    return _table(rows, DOING, lambda row: [f"{row.waits(what):.1f}" for what in DOING])


def _capacity(bench: Bench, rows: Sequence[Row]) -> str:
    lines: list[list[str]] = []
    for way in bench.ways:
        of_way = [row for row in rows if row.way is way and row.hosts == len(way.hosts)]
        order, poll = (next(row for row in of_way if row.case == case) for case in (_SPREAD, _POLL))
        # The worker also works while nobody orders, as it does during the polls.
        more = max(0.0, order.cores("worker") - poll.cores("worker"))
        used = {**_by_place(order), "worker": more * 1e6 / max(1.0, order.a_second)}
        lines += capacity.plan(used, _by_place(poll), way.name)
    return capacity.table(lines)


def _by_place(row: Row) -> dict[str, float]:
    """Return the CPU of a response in microseconds, of both web hosts together."""
    others = {part: row.us(part) for part in ("PgBouncer", "Postgres")}
    return {"web": sum(map(row.us, _WEBS)), **others}


if __name__ == "__main__":
    main()
