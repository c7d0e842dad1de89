"""A buyer in a real browser pays a part on another network than the one that was proposed."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from playwright.sync_api import expect

from tests.support.browser import axe
from tests.support.buying import Order, event_path
from tests.support.databases import only_once
from tests.support.factories import CHAIN, PRICE
from tests.support.remote import in_process
from tools import anvil
from tools.anvil import SECOND_CHAIN_ID as SECOND
from tools.headless import PHONE

pytestmark = only_once

POLL = "**/v1/checkout/**/intents/*"
REST = 1_000_000


@pytest.fixture
def variables(variables, second_node):
    return {**variables, f"RPC_URL_{SECOND}": second_node.url}


@pytest.fixture
def look(stack):
    """A function that lets the worker look once, in another thread: this one has an event loop."""
    with ThreadPoolExecutor(1) as thread:
        yield lambda: thread.submit(in_process, stack, "worker", "--once").result()


def test_a_part_elsewhere_is_seen_and_completed_there(
    look, stack, node, second_node, remote, visit
):
    look()
    ticket = remote.ticket()
    path = f"{remote.path}/events/{ticket['event_id']}/tickets/{ticket['id']}"
    remote.send("PATCH", path, {"chain_ids": [CHAIN, SECOND]})
    page = visit(stack.url, **PHONE)
    page.goto(event_path(remote, ticket))
    page.get_by_role("button", name="Order").click()
    page.wait_for_url("**/o/*")
    elsewhere = Order(page, second_node, remote)
    page.evaluate("globalThis.isLoadedOnce = true")
    elsewhere.pay(PRICE - REST)
    look()
    elsewhere.says("We see 4.00 USDC on Local 2. Still to pay: 1.00 there, or 5.00 on Local")
    assert page.evaluate("globalThis.isLoadedOnce") and axe(page) == []
    shown_again = []
    page.on("request", lambda it: shown_again.append(it.url) if "/o/" in it.url else None)
    for _ in range(2):
        with page.expect_response(POLL):
            pass
    assert shown_again == []  # the script writes the marker as the server does
    button = page.get_by_role("button", name="Pay the remaining 1.00 USDC on Local 2")
    button.focus()
    page.keyboard.press("Enter")
    elsewhere.says("Received 4.00, still to pay 1.00")
    expect(page.locator(".network[aria-current] bdi")).to_have_text("Local 2")
    elsewhere.pay(REST)
    look()
    elsewhere.says("Paid")
    expect(page.get_by_role("heading", name="You\u2019re in.")).to_be_visible()
    assert anvil.balance(node.rpc, anvil.TOKEN_ADDRESS, elsewhere.now()["address"]) == 0
