"""`make bench-early`: how long after its block the page of an order shows the ticket.

The page is open in a real Chromium. The order is confirmed early: the event is far away, and its
payment has one confirmation of 30. The worker looks every second. Exits with 1 if a page does not
show its ticket, never because of a time.
"""

import argparse
import random
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext

from bench import report
from bench.buyers import TENANT
from bench.harness import World, percentile_ms, say, worlds_of
from bench.shop import Organizer
from ticketing.limits import DEFAULT_RATE_LIMITS, CallClass
from tools import anvil, headless
from tools.json_client import Client
from tools.stack import ROOT

RESULTS = Path(__file__).parent / "EARLY.md"
BOUND_MS = 2000.0
"""The limit of the time that 95 of 100 buyers wait after their block."""

BLOCK_SECONDS = 2
_VARIABLES = {
    "CONFIRMATIONS_31337": "30",
    "POLL_SECONDS": "1",
    "RATE_LIMIT_ORDER": str(DEFAULT_RATE_LIMITS[CallClass.ORDER]),
}
_LOOK_SECONDS = 0.02
"""Between two looks: without a pause the looks themselves would slow down what they measure."""

_NOTE_TICKET = """
addEventListener("DOMContentLoaded", () => {
  const look = () => {
    const ticket = document.querySelector(".tickets .card");
    if (!globalThis.ticketAt && ticket?.checkVisibility() && ticket.innerText.trim())
      requestAnimationFrame(() => { globalThis.ticketAt ??= Date.now(); });
  };
  new MutationObserver(look).observe(document, { childList: true, subtree: true });
  look();
});
"""
"""It notes when the page has text of a ticket that people can see, in milliseconds since 1970."""

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
    """Return how many seconds after its block each order's page shows a ticket. None: never."""
    with ExitStack() as running:
        stack = world.start_web(running, _VARIABLES)
        stack.start_worker()
        organizer = Organizer(stack, world.shop.key)
        event_id = organizer.event("Next Month")
        ticket_id = organizer.ticket(event_id, "Seat", None)
        world.node.rpc("evm_setAutomine", False)
        world.node.rpc("evm_setIntervalMining", BLOCK_SECONDS)
        browser = running.enter_context(headless.browser())
        visitor = browser.new_context(base_url=stack.url, **headless.DESKTOP)
        visitor.add_init_script(_NOTE_TICKET)
        waits: list[float | None] = []
        for number in range(1, orders + 1):
            say(f"{world.name}: order {number} of {orders}")
            order = _order(stack.url, event_id, ticket_id)
            waits.append(_wait(world.node, visitor, order))
        stack.check()
        return waits


def _order(url: str, event_id: str, ticket_id: str) -> Any:
    path, body = f"/v1/checkout/tenants/{TENANT}/preflight", {"event_id": event_id}
    return Client(url).send("POST", path, {**body, "ticket_id": ticket_id}).json


def _wait(node: anvil.Anvil, visitor: BrowserContext, order: Any) -> float | None:
    """Open the page of an order, pay from elsewhere, and wait for the ticket on the page."""
    page = visitor.new_page()
    page.goto(f"/o/{order['id']}.{order['client_secret']}")
    page.locator("#order").wait_for()
    time.sleep(random.uniform(0, BLOCK_SECONDS))  # So that page, worker and block are not in step.
    data = anvil.transfer_data(order["address"], order["atomic_amount"])
    payment = {"from": anvil.BUYER, "to": order["token_address"], "data": data}
    sent: Any = node.rpc("eth_sendTransaction", payment)
    _until(lambda: node.rpc("eth_getTransactionReceipt", sent) is not None)
    start = time.time()
    is_shown = _until(lambda: page.evaluate("globalThis.ticketAt") is not None)
    wait = page.evaluate("globalThis.ticketAt") / 1000 - start if is_shown else None
    page.close()
    return wait


def _until(is_true: Callable[[], bool]) -> bool:
    """Ask until it is true. Return whether it became so in time."""
    ends = time.monotonic() + _PATIENCE_SECONDS
    while not (is_done := is_true()) and time.monotonic() < ends:
        time.sleep(_LOOK_SECONDS)
    return is_done


if __name__ == "__main__":
    main()
