"""The page of an order stays current in a real browser, and is for everybody."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import pairwise

import pytest
from playwright.sync_api import expect

from app import create_app
from tests.support import buying
from tests.support.browser import axe, stop_clock, until
from tests.support.buying import PATIENCE, WALLET
from tests.support.databases import only_once
from tests.support.factories import PRICE, new_organizer
from tests.support.order_pages import link
from tests.support.order_stories import STORIES
from tests.support.refunds import FRIEND_ADDRESS, state
from ticketing import clock
from ticketing.config import load
from ticketing.db.connection import database
from ticketing.models.chains import ChainState
from tools.headless import DESKTOP, PHONE

pytestmark = only_once

NARROW = {**PHONE, "viewport": {"width": 320, "height": 640}}
INTENTS = "**/v1/checkout/**"
PROBE = "**/probe"
LONGEST_PAUSE = 60


@pytest.fixture
def variables(variables):
    return {**variables, "CONFIRMATIONS_31337": "3", "EARLY_CONFIRMATIONS_31337": "0"}


@pytest.fixture
def elsewhere():
    """A function that runs something in another thread: the browser's has an event loop."""
    with ThreadPoolExecutor(1) as thread:
        yield lambda act, *arguments: thread.submit(act, *arguments).result()
        thread.submit(database.close).result()


@pytest.fixture
def tell(elsewhere, stack, node):
    """A function that lets a story happen on the server, and returns its buyer."""
    acme = elsewhere(lambda: new_organizer(create_app(load(stack.environ)), "acme"))
    return lambda story: elsewhere(STORIES[story], acme, node)


@pytest.fixture
def unpaid(stack, node, remote, visit):
    """An order in a browser with a wallet. No worker runs, so nothing is seen."""
    page = visit(stack.url, script=WALLET, **DESKTOP)
    buying.with_wallet(page, node)
    return buying.order(page, node, remote)


def test_every_state_is_accessible_and_fits_the_screen(tell, stack, visit):
    sizes = [
        visit(stack.url, color_scheme=scheme, **size)
        for scheme, size in (("light", NARROW), ("dark", DESKTOP))
    ]
    for name in STORIES:
        path = link(tell(name))
        for page in sizes:
            page.goto(path)
            assert axe(page) == [], name
            width = page.viewport_size["width"]
            assert page.evaluate("document.documentElement.scrollWidth") <= width, name


REFUSALS = [
    (
        "eth_requestAccounts",
        {"code": 4001},
        "Nothing was paid. You closed the request",
    ),
    (
        "eth_sendTransaction",
        {"code": 4001},
        "Nothing was paid. You closed the request",
    ),
    ("wallet_switchEthereumChain", {"code": 4902}, "Your wallet does not use Local."),
    (
        "eth_sendTransaction",
        {"code": -32000, "message": "insufficient funds for gas"},
        "Your wallet has too little USDC on Local",
    ),
    ("eth_sendTransaction", {"code": -32603}, "Your wallet did not send it."),
]


def test_what_a_wallet_refuses_is_said_and_can_be_tried_again(unpaid):
    page = unpaid.page
    button = page.get_by_role("button", name="with <b>Stub</b>")
    for method, error, said in REFUSALS:
        wallet = {"chain": "0x1", "refuses": {method: error}}
        page.evaluate("changes => { Object.assign(wallet, changes) }", wallet)
        button.click()
        expect(page.get_by_text(said)).to_be_visible(timeout=PATIENCE)
        expect(button).to_be_enabled()
        page.reload()


def test_what_was_sent_is_not_sent_twice(unpaid, node):
    page = unpaid.page
    address = page.locator("#copy-address").get_attribute("data-copy")
    other = page.context.new_page()
    buying.with_wallet(other, node)
    other.goto(unpaid.path)
    for tab in (page, other):
        tab.get_by_role("button", name="with <b>Stub</b>").click()
        expect(tab.get_by_text("Sent. We are waiting to see it.")).to_be_visible()
        until(other, f"localStorage['sent {unpaid.id}']")
    for tab in (page, other):
        tab.reload()
        expect(tab.get_by_role("button", name="with <b>Stub</b>")).to_be_disabled()
        expect(tab.get_by_text("Sent. We are waiting to see it.")).to_be_visible()
    assert buying.balance(node, address) == PRICE


def test_it_says_when_the_chain_is_no_longer_seen(elsewhere, tell, stack, visit):
    buyer = tell("unpaid")
    page = visit(stack.url, **DESKTOP)
    page.clock.install()
    page.goto(link(buyer))
    expect(page.get_by_text("We cannot see Local right now.")).to_have_count(0)
    an_hour_ago = clock.now() - timedelta(hours=1)
    elsewhere(ChainState.update(looked_at=an_hour_ago).execute)
    page.clock.run_for(65_000)
    expect(page.get_by_text("We cannot see Local right now.")).to_be_visible()


def test_it_asks_less_and_less_often_while_there_is_no_answer(unpaid, visit):
    visit.expect("status of 503")
    visit.expect("status of 429")
    asks = Asks(unpaid)
    asks.answer(503)
    asks.pass_seconds(200)
    gaps = asks.gaps()
    assert len(gaps) >= 5
    assert all(
        gap >= min(LONGEST_PAUSE, int(0.8 * 2**number)) for number, gap in enumerate(gaps, 1)
    )
    assert max(gaps) <= LONGEST_PAUSE + 5
    asks.answer(429, {"Retry-After": "150"})
    asks.pass_seconds(LONGEST_PAUSE + 5)
    asks.answer(200)
    asks.pass_seconds(170)
    first, *later = asks.gaps()[len(gaps) + 1 :]
    assert first >= 150
    assert later and max(later) < 10


def test_it_asks_less_often_while_nobody_looks(unpaid):
    asks = Asks(unpaid)
    asks.answer(200)
    asks.pass_seconds(13)
    hide = "is => Object.defineProperty(document, 'hidden', { get: () => is, configurable: true })"
    unpaid.page.evaluate(hide, True)
    asks.pass_seconds(45)
    *_, before, last = asks.gaps()
    assert 10 <= before <= 12 and 10 <= last <= 12
    unpaid.page.evaluate(hide, False)
    count = len(asks.gaps())
    unpaid.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    asks.pass_seconds(8)
    assert len(asks.gaps()) >= count + 2


def test_it_asks_every_second_after_a_wallet_has_sent_a_payment(unpaid):
    asks = Asks(unpaid)
    asks.answer(200)
    unpaid.page.evaluate("document.getElementById('order').dataset.every = 3")
    asks.pass_seconds(10)
    assert asks.gaps()[-1] == 3
    unpaid.page.evaluate("document.dispatchEvent(new Event('payment-sent'))")
    asks.pass_seconds(10)
    assert len(asks.gaps()) >= 10 and asks.gaps()[-1] == 1


class Asks:
    """The requests of a page for its order, in seconds of the page's own clock.

    The test answers these and all others: a busy server would take many of those seconds.
    """

    def __init__(self, order):
        self.page = page = order.page
        self._at, self._second = [], 0
        stop_clock(page)
        page.reload()
        self._order = json.dumps(order.now())
        shown = page.content()
        page.route(order.path, lambda route: route.fulfill(content_type="text/html", body=shown))
        page.route(PROBE, lambda route: route.fulfill())

    def answer(self, status, headers=None):
        """Answer so from now on. 200 comes with the order."""
        self.page.unroute(INTENTS)
        body = self._order if status == 200 else ""

        def handle(route):
            self._at.append(self._second)
            route.fulfill(status=status, headers=headers or {}, body=body)

        self.page.route(INTENTS, handle)

    def pass_seconds(self, seconds):
        for _ in range(seconds):
            self._second += 1
            self.page.clock.run_for(1000)
            self.page.evaluate("fetch('/probe')")  # answered after what was asked before it

    def gaps(self):
        return [after - before for before, after in pairwise(self._at)]


def test_a_timer_is_read_out_in_the_last_quarter_only(tell, stack, visit):
    visit.expect("status of 503")
    buyer = tell("unpaid")
    page = visit(stack.url, **DESKTOP)
    page.route(INTENTS, lambda route: route.fulfill(status=503, body=""))
    page.clock.install()
    page.goto(link(buyer))
    timer, read_out = page.locator("#timer"), page.locator("#timer-said")
    page.clock.fast_forward(600_000)
    expect(timer).to_have_text(re.compile(r"^[45]:\d\d$"))
    expect(read_out).to_be_empty()
    page.clock.fast_forward(120_000)
    expect(timer).to_have_text(re.compile(r"^[23]:\d\d$"))
    first = read_out.text_content()
    assert re.match(r"^[23]:\d\d left$", first)
    page.clock.run_for(30_000)
    assert read_out.text_content() == first != f"{timer.text_content()} left"
    page.clock.fast_forward(200_000)
    expect(timer).to_have_text(re.compile("^Time is up."))
    expect(read_out).to_have_text(re.compile("^Time is up."))


def test_it_says_since_when_it_has_no_connection(unpaid, visit):
    visit.expect("net::ERR_FAILED")
    page = unpaid.page
    stop_clock(page)
    page.reload()
    at = page.evaluate("new Date().toTimeString().slice(0, 5)")
    page.route(INTENTS, lambda route: route.abort())
    page.clock.run_for(4000)
    expect(page.locator("#lost")).to_have_text(f"No connection. Last looked {at}.")
    page.unroute(INTENTS)
    page.clock.run_for(20_000)
    expect(page.locator("#lost")).to_be_empty()


def test_what_somebody_types_is_not_replaced(elsewhere, tell, stack, visit):
    buyer = tell("owed")
    page = visit(stack.url, **DESKTOP)
    page.clock.install()
    page.goto(link(buyer))
    field = page.get_by_label("Where should it go back to?")
    field.fill("0x9")
    assert elsewhere(state, buyer, FRIEND_ADDRESS).status_code == 200
    with page.expect_response(INTENTS):
        page.clock.run_for(31_000)
    expect(field).to_have_value("0x9")
    field.fill("")
    field.blur()
    page.clock.run_for(31_000)
    expect(page.get_by_text(FRIEND_ADDRESS)).to_be_visible(timeout=PATIENCE)


def test_the_address_is_copied_without_spaces(unpaid, visit):
    page = unpaid.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    stop_clock(page)  # it says so for two seconds
    page.reload()
    page.get_by_text("Pay by hand: address and amount").click()
    button = page.get_by_role("button", name="Copy the address")
    button.click()
    expect(button).to_have_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == unpaid.now()["address"]
    page.clock.run_for(2000)
    expect(button).to_have_text("Copy")
