"""`make bench-peers`: what an order costs, here and in pretix, in the same run.

Both have their production settings, and their own database of one Postgres. CPU counts the web
server, the worker, Redis and Postgres. Exits with 1 if an order fails, never because of a figure.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from bench import cpu, load, pretix, report
from bench.buyers import TENANT
from bench.cases import Request
from bench.harness import World, say, world_on
from bench.ordering import OURS, PRETIX
from bench.shop import Organizer
from tools.postgres import Postgres

RESULTS = Path(__file__).parent / "PEERS.md"
BOUND = 30.0
"""How many times our CPU an order costs there, and how many times its rate we have."""

PAGES, API = "the pages", "the API"
PARTS = ("web", "worker", "redis", "database")
_WARM_UP_SECONDS = 2.0
_QUIET_SECONDS = 0.5
_QUIET_CPU = 0.1
"""A system is quiet if it uses less than this in so many seconds."""
_SETTLE_SECONDS = 20.0


@dataclass(frozen=True)
class Slice:
    """What was measured in one round. `cpu_seconds` are by part."""

    orders: int
    requests: int
    seconds: float
    cpu_seconds: Mapping[str, float]


@dataclass
class Row:
    """One way to order from one system, and its measurements so far.

    `order` runs the load for some seconds. It returns the orders, the requests, the seconds, and
    how many orders or requests failed. `pids` are the first processes of the system's parts.
    """

    way: str
    system: str
    order: Callable[[float], tuple[int, int, float, int]]
    pids: Mapping[str, int]
    seconds: float
    slices: list[Slice] = field(default_factory=list)
    errors: int = 0

    def take(self, seconds: float, *, is_warm: bool = True) -> None:
        """Run one slice, and wait until the workers have done what the orders left to them."""
        before = self._cpu()
        orders, requests, took, errors = self.order(seconds)
        self._settle()
        after = self._cpu()
        self.errors += errors
        if is_warm:
            used = {part: after[part] - before[part] for part in after}
            self.slices.append(Slice(orders, requests, took, used))

    def ms(self, part: str) -> float:
        """CPU of one part an order, in milliseconds: the median of the slices."""
        return statistics.median(
            each.cpu_seconds[part] / max(1, each.orders) * 1000 for each in self.slices
        )

    @property
    def cpu_ms(self) -> float:
        """CPU of all parts an order, in milliseconds: the median of the slices."""
        return statistics.median(
            sum(each.cpu_seconds.values()) / max(1, each.orders) * 1000 for each in self.slices
        )

    @property
    def a_second(self) -> float:
        """Orders a second: the median of the slices."""
        return statistics.median(each.orders / each.seconds for each in self.slices)

    @property
    def orders(self) -> int:
        """The orders of all slices."""
        return sum(each.orders for each in self.slices)

    @property
    def requests(self) -> float:
        """Requests an order."""
        return sum(each.requests for each in self.slices) / max(1, self.orders)

    def _cpu(self) -> dict[str, float]:
        return {part: cpu.seconds(pid) for part, pid in self.pids.items()}

    def _settle(self) -> None:
        ends = time.monotonic() + _SETTLE_SECONDS
        used = sum(self._cpu().values())
        while time.monotonic() < ends:
            time.sleep(_QUIET_SECONDS)
            before, used = used, sum(self._cpu().values())
            if used - before < _QUIET_CPU:
                return


def main() -> None:
    """Measure, print the result, and write it to a file with --write."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2, help="of ours in a round")
    parser.add_argument("--pretix-seconds", type=float, default=10, help="of pretix in a round")
    report.run(parser, _measure, "Beside pretix", RESULTS)


def _measure(arguments: argparse.Namespace, running: ExitStack) -> tuple[str, int]:
    """Measure both. Return the report and the number of failed orders."""
    server = running.enter_context(Postgres(durable=True))
    world = world_on(server, running)
    ours = _rows_of_ours(world, arguments.seconds, running)
    say("a shop in pretix")
    url = server.create_database(PRETIX)
    other, theirs = _rows_of_pretix(world, url, arguments.pretix_seconds, running)
    sizes = f"{arguments.seconds:g} s of ours, {arguments.pretix_seconds:g} s of pretix"
    facts = [*report.facts([world, other]), f"rounds: {arguments.rounds}; in each, {sizes}"]
    rows = [row for pair in zip(ours, theirs, strict=True) for row in pair]
    for number in range(arguments.rounds + 1):
        for row in rows:
            say(f"{f'round {number}' if number else 'warming up'}: {row.way}, {row.system}")
            row.take(row.seconds if number else _WARM_UP_SECONDS, is_warm=number > 0)
    other.check()
    lines = [*facts, "", _table(rows), "", _ratios(ours, theirs)]
    return "\n".join(lines), sum(row.errors for row in rows)


def _rows_of_ours(world: World, seconds: float, running: ExitStack) -> list[Row]:
    stack = world.start_web(running)
    stack.start_worker()
    organizer = Organizer(stack, world.shop.key)
    event_id = organizer.event("Beside Pretix")
    ticket_id = organizer.ticket(event_id, "Unlimited", None)
    body = {"event_id": event_id, "ticket_id": ticket_id}
    request = Request("POST", f"/v1/checkout/tenants/{TENANT}/preflight", body=body)
    pages = partial(_through_pages, stack.port, OURS, f"/{TENANT}/beside-pretix")
    by_api = partial(_through_api, stack.port, request)
    pids = {"web": stack.pid(), "worker": stack.pid("worker"), "database": _database(world)}
    return [Row(PAGES, OURS, pages, pids, seconds), Row(API, OURS, by_api, pids, seconds)]


def _rows_of_pretix(
    world: World, url: str, seconds: float, running: ExitStack
) -> tuple[pretix.Pretix, list[Row]]:
    other, redis, shop = pretix.start(url, running)
    body = {"locale": "en", "sales_channel": "web", "payment_provider": "manual"}
    request = Request(
        "POST",
        f"{pretix.API}hot-night/orders/",
        {"Authorization": f"Token {shop.token}"},
        body | {"positions": [{"item": shop.item}]},
    )
    pages = partial(_through_pages, other.port, PRETIX, pretix.EVENT)
    by_api = partial(_through_api, other.port, request)
    pids = {"web": other.pid(), "worker": other.pid("worker"), "redis": redis.pid}
    pids["database"] = _database(world)
    return other, [
        Row(PAGES, PRETIX, pages, pids, seconds),
        Row(API, PRETIX, by_api, pids, seconds),
    ]


def _database(world: World) -> int:
    assert world.database_pid is not None
    return world.database_pid


def _through_pages(port: int, of: str, page: str, seconds: float) -> tuple[int, int, float, int]:
    job = {"port": port, "of": of, "page": page, "seconds": seconds}
    result = load.run("pages", job)
    wrong = sum(result["wrong"].values()) + _wrong(result["steps"])
    return result["orders"], result["requests"], result["seconds"], wrong


def _through_api(port: int, request: Request, seconds: float) -> tuple[int, int, float, int]:
    data = request.to(port).decode("latin-1")
    job = {"hosts": ["127.0.0.1"], "port": port, "requests": [data]}
    job |= {"status": "201", "seconds": seconds}
    result = load.run("repeat", job)
    orders = len(result["steps"]["repeat"]["latencies_us"])
    return orders, orders, result["seconds"], _wrong(result["steps"])


def _wrong(steps: Mapping[str, Any]) -> int:
    return sum(sum(step["wrong"].values()) for step in steps.values())


def _table(rows: Sequence[Row]) -> str:
    lines = []
    for row in rows:
        parts = [f"{row.ms(part):.2f}" if part in row.pids else "-" for part in PARTS]
        lines.append(
            [
                row.way if row.system == OURS else "",
                row.system,
                f"{row.a_second:.1f}",
                *parts,
                f"{row.cpu_ms:.2f}",
                f"{row.requests:.1f}",
                str(row.orders),
                str(row.errors),
            ]
        )
    parts = [f"{part} ms" for part in PARTS]
    heads = ("an order by", "of", "a second", *parts, "CPU ms", "requests", "orders", "errors")
    return report.aligned(heads, lines, left=2)


def _ratios(ours: Sequence[Row], theirs: Sequence[Row]) -> str:
    lines = []
    for own, other in zip(ours, theirs, strict=True):
        for name, ratio in (
            ("CPU of pretix to ours", other.cpu_ms / own.cpu_ms),
            ("rate of ours to pretix's", own.a_second / max(0.001, other.a_second)),
        ):
            verdict = report.verdict(ratio >= BOUND)
            lines.append([own.way, name, f"{ratio:.1f} x", f">= {BOUND:g} x", verdict])
    heads = ("an order by", "ratio", "measured", "bound", "holds")
    return report.aligned(heads, lines, left=2)


if __name__ == "__main__":
    main()
