"""The load, in a process of its own: `python -m bench.load JOB`, with its values as JSON.

It does as little as possible, because it runs on the same cores as the server.
"""

import itertools
import json
import random
import secrets
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bench.buyers import PAYMENTS, POLL_SECONDS, Crowd, Payer
from bench.goods import Goods
from bench.loop import ANSWER_SECONDS, Ask, Loop, Pool, Script
from bench.ordering import Orders
from tools.stack import ROOT

CONNECTIONS = 32
"""Of a request that is repeated, and of the orders before the buyers wait."""
CLIENT = "address-of-the-client"
"""A placeholder in a request. Each request gets another client address there."""
CLIENTS = 5_000
NONCE = "nonce-of-a-scan-36-characters-long--"
"""A placeholder. Each request gets another UUID there."""
SEAT = "id-of-an-admission-26-long"
"""A placeholder. Each request gets another of SEATS numbers there."""
SEATS = 50_000
FORGET_SECONDS = 240.0
"""How long the last buyer may take."""

Result = dict[str, Any]
"""What a job adds to the result. `wrong`: what went wrong besides statuses, and how often."""


def run(job: str, values: Mapping[str, Any]) -> Any:
    """Run a job in another process, and return its result."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.load", job],
        cwd=ROOT,
        input=json.dumps(values),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def _repeat(loop: Loop, job: Any, start: float) -> Result:
    """Repeat requests for the job's seconds, or so many times. `size`: of the last body.

    The hosts of the job get equal numbers of the connections.
    """
    pools, size = [Pool(job["port"], CONNECTIONS, host) for host in job["hosts"]], 0
    texts = [text.encode("latin-1") for text in job["requests"]]
    left = itertools.islice(itertools.cycle(_from_everybody(texts)), job.get("count"))
    until = start + job["seconds"]

    def script(pool: Pool) -> Script:
        nonlocal size
        for request in left:
            answer = yield Ask("repeat", request, (job["status"],), pool)
            size = len(answer.body) if answer else 0
            if time.perf_counter() >= until:
                return

    for _, pool in zip(range(CONNECTIONS), itertools.cycle(pools), strict=False):
        loop.start(script(pool), start)
    loop.run(until + ANSWER_SECONDS)
    return {"size": size}


def _from_everybody(texts: Sequence[bytes]) -> list[bytes]:
    """Return the request of each client. Each run starts at another client and seat."""
    first, seat = secrets.randbelow(CLIENTS), secrets.randbelow(SEATS)
    requests = []
    for number in range(CLIENTS):
        client = first + number
        values = {
            CLIENT: f"10.0.{client // 256}.{client % 256}",
            NONCE: str(uuid.uuid4()),
            SEAT: f"{(seat + number) % SEATS:026}",
        }
        filled = texts[number % len(texts)]
        for placeholder, value in values.items():
            filled = filled.replace(placeholder.encode(), value.encode())
        requests.append(filled)
    return requests


def _sell(loop: Loop, job: Any, start: float) -> Result:
    """Let buyers come within the job's seconds, and pay."""
    crowd = _crowd(loop, job)
    payers = {int(chain_id): Payer(*node) for chain_id, node in job["nodes"].items()}
    for number in range(job["buyers"]):
        at = start + random.uniform(0, job["seconds"])
        loop.start(crowd.journey(number, payers), at)

    def stop_payers() -> Script:
        while loop.running > 1 + len(payers):  # this script and the payers'
            yield 0.5
        for payer in payers.values():
            payer.is_done = True

    for payer in payers.values():
        loop.start(payer.script(), start)
    loop.start(stop_payers(), start)
    loop.run(start + job["seconds"] + FORGET_SECONDS)
    missing = job["buyers"] - len(crowd.finished_at) - crowd.gave_up - crowd.left
    refused = {
        f"payment refused by anvil, {chain_id}, {why}": count
        for chain_id, payer in payers.items()
        for why, count in payer.refused.items()
    }
    return _bought(crowd, start, {"never finished": missing, **refused})


def _rush(loop: Loop, job: Any, start: float) -> Result:
    """Let holders use their tickets, then also a crowd come."""
    crowd, opens = replace(_crowd(loop, job), is_impatient=True), start + job["before"]

    def phase() -> str | None:
        if len(crowd.finished_at) == job["buyers"]:
            return None
        return "before" if time.perf_counter() < opens else "during"

    # The crowd fills its connections. A proxy then opens more.
    holders = replace(crowd)
    for number, (order, ticket) in enumerate(job["holders"]):
        at = start + random.uniform(0, POLL_SECONDS)
        loop.start(holders.hold(number + job["buyers"], order, ticket, phase), at)
    for number in range(job["buyers"]):
        loop.start(crowd.rush(number), opens + random.uniform(0, job["seconds"]))
    loop.run(opens + job["seconds"] + FORGET_SECONDS)
    return _bought(crowd, start, {"never finished": job["buyers"] - len(crowd.finished_at)})


def _order(loop: Loop, job: Any, start: float) -> Result:
    """Order by the API, for all buyers."""
    crowd = _crowd(loop, job)
    for first in range(CONNECTIONS):
        loop.start(crowd.order_only(range(first, job["buyers"], CONNECTIONS)), start)
    loop.run(start + FORGET_SECONDS)
    return _bought(crowd, start, {"never ordered": job["buyers"] - len(crowd.orders)})


def _wait(loop: Loop, job: Any, start: float) -> Result:
    """Poll the pages of open orders for the job's seconds."""
    crowd, until = _crowd(loop, job), start + job["seconds"]
    for number, order in enumerate(job["orders"]):
        at = start + random.uniform(0, POLL_SECONDS)
        loop.start(crowd.wait(number, order, until), at)
    loop.run(until + FORGET_SECONDS)
    return _bought(crowd, start, {"never finished": loop.running})


def _pages(loop: Loop, job: Any, start: float) -> Result:
    """Order through the pages for the job's seconds. Then the last orders are finished."""
    pool = Pool(job["port"], most=CONNECTIONS)
    orders = Orders(job["of"], job["page"], pool, first=secrets.randbelow(2**24))
    until = start + job["seconds"]
    for _ in range(CONNECTIONS):
        loop.start(orders.until(until), start)
    loop.run(until + FORGET_SECONDS)
    wrong = {"gave up": orders.failed, "never finished": loop.running}
    return {"orders": orders.done, "requests": orders.requests, "wrong": wrong}


def _crowd(loop: Loop, job: Any) -> Crowd:
    return Crowd(loop, job["port"], Goods(**job["goods"]), job["network"])


def _bought(crowd: Crowd, start: float, wrong: dict[str, int]) -> Result:
    return {
        "finished_at": [at - start for at in crowd.finished_at],
        "ordered": crowd.ordered,
        "orders": crowd.orders,
        "tickets": crowd.tickets,
        "wrong": {"gave up": crowd.gave_up, **wrong},
    }


_JOBS: dict[str, Callable[[Loop, Any, float], Result]] = {
    "repeat": _repeat,
    "sell": _sell,
    "rush": _rush,
    "order": _order,
    "wait": _wait,
    "pages": _pages,
}


def main(arguments: Sequence[str]) -> None:
    """Run the job from standard input, and print its result."""
    job, loop = json.load(sys.stdin), Loop()
    start, used = time.perf_counter(), time.process_time()
    result = _JOBS[arguments[0]](loop, job, start)
    result["seconds"] = time.perf_counter() - start
    result["cpu_seconds"] = time.process_time() - used
    result["steps"] = {
        name: {"wrong": step.wrong, "latencies_us": step.latencies_us}
        for name, step in loop.steps.items()
        if name != PAYMENTS or step.wrong
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1:])
