"""The phases of the on-sale minute on one database: the load of each, and what it uses."""

import json
import statistics
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench import cpu
from bench.rounds import World, say
from bench.servers import SERVICE, Server, ServerFailed, Worker
from bench.shop import TENANT, Organizer
from ticketing.limits import DEFAULT_RATE_LIMITS
from tools import anvil
from tools.stack import ROOT

BLOCK_SECONDS = 2
HOLDERS = 50
_RUSH_SECONDS = 5.0
_BEFORE_SECONDS = 10.0
_FEW = 20
"""Sold out: so many buyers for each seat."""


@dataclass(frozen=True)
class Scale:
    """How many buyers come within how many seconds, and how many wait for how long."""

    buyers: int
    seconds: float
    waiting: int
    waiting_seconds: float


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
        if len(self.latencies_us) < 2:
            return float(sum(self.latencies_us)) / 1000
        return statistics.quantiles(self.latencies_us, n=100)[percent - 1] / 1000


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

    def __init__(self, world: World, node: anvil.Anvil, log: Path, running: ExitStack) -> None:
        """Start it, and create the events. ServerFailed."""
        limits = {
            f"RATE_LIMIT_{name.upper()}": str(most) for name, most in DEFAULT_RATE_LIMITS.items()
        }
        variables = {**world.variables, **limits}
        self._database = world.database
        self._node = node
        self._server = running.enter_context(Server(SERVICE, variables, log))
        self._worker = running.enter_context(Worker(variables, log))
        self._organizer = Organizer(self._server, world.shop.key)
        node.rpc("evm_setAutomine", False)
        node.rpc("evm_setIntervalMining", BLOCK_SECONDS)

    def phases(self, scale: Scale) -> list[Phase]:
        """Run all phases."""
        waiting = self._waiting(scale)
        minute, tickets = self._minute(scale)
        return [waiting, minute, self._sold_out(scale, tickets)]

    def _waiting(self, scale: Scale) -> Phase:
        job = self._event("Waiting Room", None) | {"network": "10.1"}
        orders, ordering = self._run("order", "waiting", {**job, "buyers": scale.waiting})
        sent = {**job, "orders": orders["orders"], "seconds": scale.waiting_seconds}
        _, phase = self._run("wait", "waiting", sent)
        return replace(
            phase, steps=ordering.steps + phase.steps, wrong=ordering.wrong + phase.wrong
        )

    def _minute(self, scale: Scale) -> tuple[Phase, list[Any]]:
        job = self._event("On Sale", 2 * scale.buyers)
        job |= {"buyers": scale.buyers, "seconds": scale.seconds, "network": "10.2"}
        job["node_nonce"] = int(
            self._node.rpc("eth_getTransactionCount", anvil.BUYER, "pending"), 16
        )
        result, phase = self._run("sell", "the minute", job)
        stock = self._stock(job["event_id"], job["ticket_id"])
        ordered, tickets = result["ordered"], result["tickets"]
        # Buyers who did not finish may have ordered without an answer.
        unheard = sum(result["wrong"].values())
        taken = stock["sold"] + stock["held"]
        if not ordered <= taken <= ordered + unheard or stock["sold"] < len(tickets):
            phase.wrong.append(f"{ordered} orders, {stock['held']} held, {stock['sold']} sold")
        return phase, tickets

    def _sold_out(self, scale: Scale, tickets: list[Any]) -> Phase:
        seats = max(1, scale.buyers // _FEW)
        job = self._event("Sold Out", seats)
        job |= {"buyers": scale.buyers, "seconds": min(_RUSH_SECONDS, scale.seconds)}
        job |= {"holders": tickets[:HOLDERS], "before": min(_BEFORE_SECONDS, scale.seconds)}
        result, phase = self._run("rush", "sold out", {**job, "network": "10.3"})
        stock = self._stock(job["event_id"], job["ticket_id"])
        ordered = result["ordered"]
        if not stock["held"] == ordered == seats or stock["sold"]:
            phase.wrong.append(f"{ordered} orders for {seats} seats, {stock['held']} held")
        return phase

    def _event(self, title: str, seats: int | None) -> dict[str, Any]:
        event_id = self._organizer.event(title)
        ticket_id = self._organizer.ticket(event_id, "Seat", seats)
        path = f"/{TENANT}/{title.lower().replace(' ', '-')}"
        return {"event_id": event_id, "event_page": path, "ticket_id": ticket_id}

    def _stock(self, event_id: str, ticket_id: str) -> Any:
        path = f"/v1/admin/tenants/{TENANT}/events/{event_id}/tickets/{ticket_id}"
        return self._organizer.ask("GET", path, None, 200)

    def _run(self, kind: str, phase: str, job: Mapping[str, Any]) -> tuple[Any, Phase]:
        """Run a job. Return its result and the phase."""
        say(f"{self._database.name}: {phase}{' (orders)' if kind == 'order' else ''}")
        before = self._cpu()
        done = subprocess.run(
            [sys.executable, "-m", "bench.onsale_jobs", kind],
            cwd=ROOT,
            input=json.dumps({**job, "port": self._server.port, "node_port": self._node.port}),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        after = self._cpu()
        if not self._worker.alive:
            raise ServerFailed("the worker stopped")
        used = {name: after[name] - before[name] for name in after}
        return self._read(phase, used, json.loads(done.stdout))

    def _read(self, phase: str, used: dict[str, float], result: Any) -> tuple[Any, Phase]:
        steps = [
            Step(phase, name, self._database.name, each["latencies_us"], each["wrong"])
            for name, each in result["steps"].items()
        ]
        wrong = [f"{name}: {count}" for name, count in result["wrong"].items() if count]
        for step in steps:
            wrong += [f"{step.name}: {what}, {count} times" for what, count in step.wrong.items()]
        finished = result["finished_at"]
        made = Phase(
            name=phase,
            database=self._database.name,
            seconds=result["seconds"],
            count=len(finished) or sum(len(step.latencies_us) for step in steps),
            a_minute=_a_minute(finished),
            cpu_seconds={**used, "load": result["cpu_seconds"]},
            steps=steps,
            wrong=wrong,
        )
        return result, made

    def _cpu(self) -> dict[str, float]:
        pid = self._database.pid
        return {
            "server": cpu.seconds(self._server.pid),
            "database": 0.0 if pid is None else cpu.seconds(pid),
            "worker": cpu.seconds(self._worker.pid),
            "anvil": cpu.seconds(self._node.pid),
        }


def _a_minute(finished: list[float]) -> float:
    """Return the rate at which buyers finish, without the first and the last tenth of them."""
    finished = sorted(finished)
    first, last = len(finished) // 10, len(finished) * 9 // 10
    if last <= first:
        return 0.0
    return (last - first) / max(0.001, finished[last] - finished[first]) * 60
