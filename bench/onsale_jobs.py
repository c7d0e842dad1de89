"""The load of the on-sale minute: `python -m bench.onsale_jobs JOB`, with its values as JSON.

It is one process that does as little as possible, because it runs on the same cores as the server.
"""

import json
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from bench.load import CONNECTIONS
from bench.onsale_buyers import POLL_SECONDS, Crowd
from bench.onsale_loop import Script
from bench.onsale_payer import STEP as PAYMENTS
from bench.onsale_payer import Payer

FORGET_SECONDS = 90.0
"""How long the last buyer may take."""

Wrong = dict[str, int]
"""What went wrong besides statuses, and how often."""


def _sell(crowd: Crowd, job: Any, start: float) -> Wrong:
    """Let buyers come within the job's seconds, and pay. Return which payments were refused."""
    payer = Payer(job["node_port"], job["node_nonce"])
    for number in range(job["buyers"]):
        at = start + random.uniform(0, job["seconds"])
        crowd.loop.start(crowd.journey(number, payer), at)

    def stop_payer() -> Script:
        while crowd.loop.running > 2:  # this script and the payer's
            yield 0.5
        payer.is_done = True

    crowd.loop.start(payer.script(), start)
    crowd.loop.start(stop_payer(), start)
    crowd.loop.run(start + job["seconds"] + FORGET_SECONDS)
    missing = job["buyers"] - len(crowd.finished_at) - crowd.gave_up
    refused = {f"payment refused by anvil, {why}": n for why, n in payer.refused.items()}
    return {"never finished": missing, **refused}


def _rush(crowd: Crowd, job: Any, start: float) -> Wrong:
    """Let holders use their tickets, then also a crowd come."""
    opens = start + job["before"]

    def phase() -> str | None:
        if len(crowd.finished_at) == job["buyers"]:
            return None
        return "before" if time.perf_counter() < opens else "during"

    # The crowd fills its connections. A proxy then opens more.
    holders = replace(crowd)
    for number, (order, ticket) in enumerate(job["holders"]):
        at = start + random.uniform(0, POLL_SECONDS)
        crowd.loop.start(holders.hold(number + job["buyers"], order, ticket, phase), at)
    for number in range(job["buyers"]):
        crowd.loop.start(crowd.rush(number), opens + random.uniform(0, job["seconds"]))
    crowd.loop.run(opens + job["seconds"] + FORGET_SECONDS)
    return {"never finished": job["buyers"] - len(crowd.finished_at)}


def _order_all(crowd: Crowd, job: Any, start: float) -> Wrong:
    for first in range(CONNECTIONS):
        crowd.loop.start(crowd.order_only(range(first, job["buyers"], CONNECTIONS)), start)
    crowd.loop.run(start + FORGET_SECONDS)
    return {"never ordered": job["buyers"] - len(crowd.orders)}


def _wait_all(crowd: Crowd, job: Any, start: float) -> Wrong:
    until = start + job["seconds"]
    for number, order in enumerate(job["orders"]):
        at = start + random.uniform(0, POLL_SECONDS)
        crowd.loop.start(crowd.wait(number, order, until), at)
    crowd.loop.run(until + FORGET_SECONDS)
    return {"never finished": crowd.loop.running}


_JOBS: dict[str, Callable[[Crowd, Any, float], Wrong]] = {
    "sell": _sell,
    "rush": _rush,
    "order": _order_all,
    "wait": _wait_all,
}


def main(arguments: Sequence[str]) -> None:
    """Run the job from standard input."""
    job = json.load(sys.stdin)
    of_crowd = ("port", "event_id", "event_page", "ticket_id", "network")
    crowd = Crowd(**{name: job[name] for name in of_crowd})
    start = time.perf_counter()
    wrong = _JOBS[arguments[0]](crowd, job, start)
    steps = {
        name: {"wrong": step.wrong, "latencies_us": step.latencies_us}
        for name, step in crowd.loop.steps.items()
        if name != PAYMENTS or step.wrong
    }
    result = {
        "seconds": time.perf_counter() - start,
        "cpu_seconds": time.process_time(),
        "steps": steps,
        "finished_at": [at - start for at in crowd.finished_at],
        "ordered": crowd.ordered,
        "orders": crowd.orders,
        "tickets": crowd.tickets,
        "wrong": {"gave up": crowd.gave_up, **wrong},
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1:])
