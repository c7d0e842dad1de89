"""`make bench-onsale`: measure the minute in which a sale begins, and what each step costs.

Exits with 1 if a response has an unexpected status, never because of a time.
"""

import argparse
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from bench import cpu, hot, load, report
from bench.buyers import TENANT
from bench.cases import JOURNEYS, POSTGRES, STEPS, Journey
from bench.goods import Goods
from bench.harness import FLASK_NAME, Row, World, measured, percentile_ms, rows_of, say, worlds_of
from bench.shop import Organizer
from ticketing.limits import DEFAULT_RATE_LIMITS
from tools import anvil

RESULTS = Path(__file__).parent / "ONSALE.md"
WAITING_MS = 500.0
"""The limit of a waiting buyer's poll, and of each page of a sale with a waiting room: the latency
that 99 of 100 do not exceed."""

FELT_MS = 50.0
"""How much a crowd may add to the latency of holders, which 99 of 100 do not exceed."""

BLOCK_SECONDS = 2
HOLDERS = 50
_RUSH_SECONDS = 5.0
_BEFORE_SECONDS = 10.0
_FEW = 20
"""Sold out: so many buyers for each seat."""

_HOT_SECONDS = 1.0
_MINUTE, _FULL_MINUTE = "the minute", "the minute, full orders"
_CROWD = "waiting room"
_WAITING = "poll, waiting"
_BEFORE, _DURING = ", before", ", during"


@dataclass(frozen=True)
class Step:
    """The requests of one step in one phase."""

    phase: str
    name: str
    database: str
    latencies_us: list[int]
    wrong: Mapping[str, int]

    def ms(self, percent: int) -> float:
        """Return the latency percentile, in milliseconds."""
        return percentile_ms(self.latencies_us, percent)


@dataclass(frozen=True)
class Phase:
    """The result of one phase on one database. `cpu_seconds` are by process."""

    name: str
    database: str
    seconds: float
    count: int
    """How many journeys were finished, or how many requests were sent if there are none."""
    a_minute: float
    cpu_seconds: Mapping[str, float]
    steps: list[Step]
    wrong: list[str]


class Sale:
    """A shop on one database with everything that runs in production, and anvil."""

    def __init__(self, world: World, scale: argparse.Namespace, running: ExitStack) -> None:
        """Start it with the default limits. It ends with `running`. StackFailed."""
        limits = {
            f"RATE_LIMIT_{name.upper()}": str(most) for name, most in DEFAULT_RATE_LIMITS.items()
        }
        self._world, self._scale = world, scale
        self._stack = world.start_web(running, limits)
        self._stack.start_worker()
        self._organizer = Organizer(self._stack, world.shop.key)
        for node in world.nodes.values():
            node.rpc("evm_setAutomine", False)
            node.rpc("evm_setIntervalMining", BLOCK_SECONDS)

    def phases(self) -> list[Phase]:
        """Run all phases."""
        seats = 2 * self._scale.buyers
        waiting = self._waiting()
        plain = self._organizer.plain_goods("On Sale", seats)
        minute, tickets = self._minute(_MINUTE, plain, "10.2")
        full = self._organizer.full_goods("On Sale Too", seats)
        full_minute, _ = self._minute(_FULL_MINUTE, full, "10.4")
        return [waiting, minute, full_minute, self._sold_out(tickets), self._waiting_room()]

    def _waiting(self) -> Phase:
        goods = self._organizer.plain_goods("Waiting Room", None)
        job = {"goods": asdict(goods), "network": "10.1"}
        orders, ordering = self._run("order", "waiting", {**job, "buyers": self._scale.waiting})
        sent = {**job, "orders": orders["orders"], "seconds": self._scale.waiting_seconds}
        _, phase = self._run("wait", "waiting", sent)
        return replace(
            phase, steps=ordering.steps + phase.steps, wrong=ordering.wrong + phase.wrong
        )

    def _minute(
        self, phase_name: str, goods: Goods, network: str, buyers: int | None = None
    ) -> tuple[Phase, list[Any]]:
        job: dict[str, Any] = {"goods": asdict(goods), "network": network}
        job |= {"buyers": buyers or self._scale.buyers, "seconds": self._scale.seconds}
        job["nodes"] = {
            str(chain_id): (node.port, _next_nonce(node))
            for chain_id, node in self._world.nodes.items()
        }
        result, phase = self._run("sell", phase_name, job)
        ordered, tickets = result["ordered"], result["tickets"]
        # Buyers who did not finish may have ordered without an answer.
        unheard = sum(result["wrong"].values())
        for stock in self._stocks(goods):
            taken = stock["sold"] + stock["held"]
            if not ordered <= taken <= ordered + unheard or stock["sold"] < len(tickets):
                phase.wrong.append(f"{ordered} orders, {stock['held']} held, {stock['sold']} sold")
        return phase, tickets

    def _sold_out(self, tickets: list[Any]) -> Phase:
        seats = max(1, self._scale.buyers // _FEW)
        goods = self._organizer.plain_goods("Sold Out", seats)
        job = {"goods": asdict(goods), "network": "10.3", "buyers": self._scale.buyers}
        job["seconds"] = min(_RUSH_SECONDS, self._scale.seconds)
        job |= {"holders": tickets[:HOLDERS], "before": min(_BEFORE_SECONDS, self._scale.seconds)}
        result, phase = self._run("rush", "sold out", job)
        (stock,), ordered = self._stocks(goods), result["ordered"]
        if not stock["held"] == ordered == seats or stock["sold"]:
            phase.wrong.append(f"{ordered} orders for {seats} seats, {stock['held']} held")
        return phase

    def _waiting_room(self) -> Phase:
        """Let a crowd come to an event whose waiting room is open, until all seats are sold."""
        seats = self._scale.buyers
        goods = self._organizer.plain_goods("Crowd", seats)
        self._organizer.open_waiting_room(goods.event_id)
        phase, tickets = self._minute(_CROWD, goods, "10.5", self._scale.crowd)
        if len(tickets) != min(seats, self._scale.crowd):
            phase.wrong.append(f"{len(tickets)} tickets for {seats} seats")
        return phase

    def _stocks(self, goods: Goods) -> list[Any]:
        of_event = f"/v1/admin/tenants/{TENANT}/events/{goods.event_id}/tickets"
        paths = [f"{of_event}/{ticket_id}" for ticket_id in goods.ticket_ids]
        return [self._organizer.ask("GET", path, None, 200) for path in paths]

    def _run(self, kind: str, phase: str, job: Mapping[str, Any]) -> tuple[Any, Phase]:
        """Run a job. Return its result and the phase."""
        say(f"{self._world.name}: {phase}{' (orders)' if kind == 'order' else ''}")
        before = self._cpu()
        result = load.run(kind, {**job, "port": self._stack.port})
        after = self._cpu()
        self._stack.check()
        used = {name: after[name] - before[name] for name in after}
        return result, self._read(phase, used, result)

    def _read(self, phase: str, used: dict[str, float], result: Any) -> Phase:
        steps = [
            Step(phase, name, self._world.name, each["latencies_us"], each["wrong"])
            for name, each in result["steps"].items()
        ]
        wrong = [f"{name}: {count}" for name, count in result["wrong"].items() if count]
        for step in steps:
            wrong += [f"{step.name}: {what}, {count} times" for what, count in step.wrong.items()]
        finished = result["finished_at"]
        return Phase(
            name=phase,
            database=self._world.name,
            seconds=result["seconds"],
            count=len(finished) or sum(len(step.latencies_us) for step in steps),
            a_minute=_a_minute(finished),
            cpu_seconds={**used, "load": result["cpu_seconds"]},
            steps=steps,
            wrong=wrong,
        )

    def _cpu(self) -> dict[str, float]:
        database = self._world.database_pid
        return {
            "server": cpu.seconds(self._stack.pid()),
            "database": 0.0 if database is None else cpu.seconds(database),
            "worker": cpu.seconds(self._stack.pid("worker")),
            "anvil": sum(cpu.seconds(node.pid) for node in self._world.nodes.values()),
        }


def _next_nonce(node: anvil.Anvil) -> int:
    """Return the number of the next transaction of the account that pays."""
    return int(node.rpc("eth_getTransactionCount", anvil.BUYER, "pending"), 16)


def _a_minute(finished: list[float]) -> float:
    """Return the rate at which buyers finish, without the first and the last tenth of them."""
    finished = sorted(finished)
    first, last = len(finished) // 10, len(finished) * 9 // 10
    if last <= first:
        return 0.0
    return (last - first) / max(0.001, finished[last] - finished[first]) * 60


def main() -> None:
    """Measure, print the result, and write it to a file with --write."""
    parser = argparse.ArgumentParser(prog="python -m bench.onsale", description=__doc__)
    parser.add_argument("--buyers", type=int, default=3000)
    parser.add_argument("--seconds", type=float, default=60, help="in which they come")
    parser.add_argument("--waiting", type=int, default=3000, help="buyers who wait and poll")
    parser.add_argument("--waiting-seconds", type=float, default=20)
    parser.add_argument("--crowd", type=int, default=20_000, help="who come to the waiting room")
    parser.add_argument("--rounds", type=int, default=5, help="of the steps; 0: leave them out")
    parser.add_argument("--slice", type=float, default=0.5, help="seconds of a step in a round")
    parser.add_argument("--database", choices=("sqlite", "postgres"), help="default: both")
    report.run(parser, _measure, "The last on-sale minute", RESULTS)


def _measure(arguments: argparse.Namespace, running: ExitStack) -> tuple[str, int]:
    """Measure everything. Return the report and the number of wrong results."""
    worlds = worlds_of(arguments.database, running)
    lines, errors = report.facts(worlds), 0
    if arguments.rounds:
        with ExitStack() as of_steps:
            rows = list(rows_of(STEPS, worlds, of_steps, [FLASK_NAME]))
            errors += measured(rows, arguments.rounds, arguments.slice)
        lines += ["", "Steps", "", report.of_rows(rows), "", _journeys(rows)]
    phases: list[Phase] = []
    for world in worlds:
        with ExitStack() as of_sale:
            phases += Sale(world, arguments, of_sale).phases()
    for world in worlds if arguments.rounds else ():
        if world.name == POSTGRES:
            shown, wrong_orders = hot.compare(world, arguments.rounds, _HOT_SECONDS)
            lines += ["", shown]
            errors += wrong_orders
    lines += ["", f"The minute: {arguments.buyers} buyers come within {arguments.seconds:g} s", ""]
    lines += [_sums(phases), "", _latencies(phases)]
    wrong = [
        f"WRONG {each.name}, {each.database}: {what}" for each in phases for what in each.wrong
    ]
    return "\n".join([*lines, *([""] if wrong else []), *wrong]), errors + len(wrong)


def _journeys(rows: Sequence[Row]) -> str:
    """Return a table with the CPU of each journey on each server: the sum of its steps."""
    by_name = {(row.case.name, row.answered_by): row for row in rows}
    lines = []
    for journey in JOURNEYS:
        flask_us = _cost_us(journey, FLASK_NAME, by_name)[2]
        for name in dict.fromkeys(row.answered_by for row in rows):
            costs = _cost_us(journey, name, by_name)
            ratio = costs[2] / flask_us
            bound = report.ratio_bound(ratio, journey.bounds.get(name))
            of_what = journey.name if name == FLASK_NAME else ""
            figures = [f"{each / 1000:.1f}" for each in costs]
            lines.append([of_what, name, *figures, f"{ratio:.2f}", *bound])
    heads = ("a journey", "answered by", "server ms", "database ms", "CPU ms", "to Flask")
    return report.aligned((*heads, "bound", "holds"), lines, left=2)


def _cost_us(
    journey: Journey, answered_by: str, rows: Mapping[tuple[str, str], Row]
) -> tuple[float, float, float]:
    """Return the CPU of a journey: of the server, of its database, and of both."""
    steps = [(rows[name, answered_by], times) for name, times in journey.times.items()]
    return (
        sum(row.server_us * times for row, times in steps),
        sum(row.database_us * times for row, times in steps),
        sum(row.cpu_us * times for row, times in steps),
    )


def _sums(phases: Sequence[Phase]) -> str:
    lines = []
    for phase in phases:
        of_what = "request" if phase.name == "waiting" else "buyer"
        each = [
            f"{seconds / max(1, phase.count) * 1000:.2f}" for seconds in phase.cpu_seconds.values()
        ]
        cores = sum(phase.cpu_seconds.values()) / phase.seconds
        minute = f"{phase.a_minute:.0f}" if phase.name != "waiting" else "-"
        count = f"{phase.count} {of_what}s"
        lines.append([phase.name, phase.database, count, minute, *each, f"{cores:.2f}"])
    names = [f"{name} ms" for name in phases[0].cpu_seconds]
    heads = ("phase", "answered by", "count", "buyers a minute", *names, "cores")
    return report.aligned(heads, lines, left=2)


def _latencies(phases: Sequence[Phase]) -> str:
    by_name: dict[tuple[str, str], dict[str, Step]] = {}
    for step in (step for phase in phases for step in phase.steps):
        by_name.setdefault((step.phase, step.name), {})[step.database] = step
    lines = []
    for (phase, name), by_database in by_name.items():
        before = by_name.get((phase, name.replace(_DURING, _BEFORE)), {})
        for database, step in by_database.items():
            most = _most_ms(step, before.get(database))
            bound = ["-", "-"]
            if most is not None:
                bound = [f"p99 <= {most:.0f} ms", report.verdict(step.ms(99) <= most)]
            figures = [str(len(step.latencies_us)), f"{step.ms(50):.1f}", f"{step.ms(99):.1f}"]
            wrong = str(sum(step.wrong.values()))
            lines.append([phase, name, database, *figures, *bound, wrong])
    heads = ("phase", "step", "answered by", "count", "p50 ms", "p99 ms", "bound", "holds", "wrong")
    return report.aligned(heads, lines, left=3)


def _most_ms(step: Step, before: Step | None) -> float | None:
    if step.name == _WAITING or step.phase == _CROWD:
        return WAITING_MS
    if step.name.endswith(_DURING) and before is not None:
        return before.ms(99) + FELT_MS
    return None


if __name__ == "__main__":
    main()
