"""`make bench-early`: how long after its block the page of an order shows the ticket.

The order is confirmed early: the event is far away, and its payment has one confirmation of 30. The
worker looks every second. Exits with 1 if an order is not confirmed, never because of a time.
"""

import argparse
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import urllib3

from bench import report
from bench.buyers import TENANT
from bench.harness import World, percentile_ms, say, worlds_of
from bench.shop import Organizer
from tools import anvil
from tools.json_client import Client
from tools.stack import ROOT

RESULTS = Path(__file__).parent / "EARLY.md"
BOUND_MS = 2000.0
"""The limit of the time that 95 of 100 buyers wait after their block."""

BLOCK_SECONDS = 2
_VARIABLES = {"CONFIRMATIONS_31337": "30", "POLL_SECONDS": "1"}
_TICKETS = 'class="cards tickets"'
_LOOK_SECONDS = 0.02
"""Between two looks: without a pause the looks themselves would slow down what they measure."""

_PATIENCE_SECONDS = 60.0


def main() -> None:
    """Measure, print the result, and write it to a file with --write."""
    parser = argparse.ArgumentParser(prog="python -m bench.early", description=__doc__)
    parser.add_argument("--orders", type=int, default=50)
    parser.add_argument("--database", choices=("sqlite", "postgres"), help="default: both")
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.relative_to(ROOT)}")
    arguments = parser.parse_args()
    file = RESULTS if arguments.write else None
    report.show(partial(_measure, arguments), "A ticket after one block", file)


def _measure(arguments: argparse.Namespace, running: ExitStack) -> tuple[str, int]:
    """Measure on each database. Return the report and the number of wrong results."""
    worlds = worlds_of(arguments.database, running)
    lines, wrong = [], 0
    for world in worlds:
        waits = _waits(world, arguments.orders)
        late = sum(wait is None for wait in waits)
        found = [round(wait * 1e6) for wait in waits if wait is not None]
        p95 = percentile_ms(found, 95)
        figures = [f"{percentile_ms(found, each):.0f}" for each in (5, 50)]
        bound = [f"p95 <= {BOUND_MS:.0f} ms", report.verdict(p95 <= BOUND_MS)]
        lines.append([world.name, str(len(found)), *figures, f"{p95:.0f}", *bound, str(late)])
        wrong += late
    heads = ("answered by", "orders", "p5 ms", "p50 ms", "p95 ms", "bound", "holds", "wrong")
    table = report.aligned(heads, lines)
    return "\n".join([*report.facts(worlds), "", table]), wrong


def _waits(world: World, orders: int) -> list[float | None]:
    """Return how many seconds after its block each order's page shows tickets. None: never."""
    with ExitStack() as running:
        stack = world.start_web(running, _VARIABLES)
        stack.start_worker()
        organizer = Organizer(stack, world.shop.key)
        event_id = organizer.event("Next Month")
        ticket_id = organizer.ticket(event_id, "Seat", None)
        world.node.rpc("evm_setAutomine", False)
        world.node.rpc("evm_setIntervalMining", BLOCK_SECONDS)
        waits: list[float | None] = []
        for number in range(1, orders + 1):
            say(f"{world.name}: order {number} of {orders}")
            waits.append(_wait(world.node, stack.url, event_id, ticket_id))
        stack.check()
        return waits


def _wait(node: anvil.Anvil, url: str, event_id: str, ticket_id: str) -> float | None:
    path, body = f"/v1/checkout/tenants/{TENANT}/preflight", {"event_id": event_id}
    order = Client(url).send("POST", path, {**body, "ticket_id": ticket_id}).json
    data = anvil.transfer_data(order["address"], order["atomic_amount"])
    payment = {"from": anvil.BUYER, "to": order["token_address"], "data": data}
    sent: Any = node.rpc("eth_sendTransaction", payment)
    _until(lambda: node.rpc("eth_getTransactionReceipt", sent) is not None)
    start, pages = time.monotonic(), urllib3.PoolManager()
    page = f"{url}/o/{order['id']}.{order['client_secret']}"
    is_shown = _until(lambda: _TICKETS in pages.request("GET", page).data.decode())
    return time.monotonic() - start if is_shown else None


def _until(is_true: Callable[[], bool]) -> bool:
    """Ask until it is true. Return whether it became so in time."""
    ends = time.monotonic() + _PATIENCE_SECONDS
    while not (is_done := is_true()) and time.monotonic() < ends:
        time.sleep(_LOOK_SECONDS)
    return is_done


if __name__ == "__main__":
    main()
