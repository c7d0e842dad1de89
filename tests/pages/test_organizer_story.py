"""An organizer in a real browser, from the one-time link to money that can be spent."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.support.buying import PATIENCE, balance
from tests.support.console import PASSWORD
from tests.support.databases import only_once
from tests.support.factories import CHAIN
from tests.support.injected_wallet import InjectedWallet
from tests.support.money import AT_ONCE
from tests.support.refunds import account
from tests.support.remote import eventually, in_process
from ticketing.chain.address import checksum
from tools import anvil
from tools.headless import DESKTOP, PHONE
from tools.json_client import Client

pytestmark = only_once

OWNER = 6
PRICE = 12_500_000
SURPLUS = 2_500_000
HOLD_SECONDS = 900


class Night:
    """An organizer's console, and what buyers do by the API."""

    def __init__(self, stack, node, page):
        self.stack, self.node, self.page = stack, node, page
        self.client = Client(stack.url)
        self.checkout = "/v1/checkout/tenants/harbour"

    def follow(self, name):
        self.page.get_by_role("link", name=name, exact=True).first.click()

    def next_step(self):
        """Follow the first of the first steps that is left."""
        self.follow("Overview")
        self.page.locator(".steps li:not(.done) a").first.click()

    def order(self, ticket):
        found = self.client.send("POST", f"{self.checkout}/preflight", ticket)
        assert found.status == 201, found.json
        return found.json

    def pay(self, order, amount):
        anvil.transfer(self.node.rpc, anvil.TOKEN_ADDRESS, order["address"], amount)

    def ask(self, order, method="GET", path="", body=None):
        headers = {"Authorization": f"Bearer {order['client_secret']}"}
        path = f"{self.checkout}/intents/{order['id']}{path}"
        return self.client.send(method, path, body, headers).json

    def until(self, order, **fields):
        """Wait until an order is so."""
        eventually(lambda: self.ask(order).items() >= fields.items())

    def figure(self, name):
        """One of the figures of the overview, reloaded until it is there."""
        self.page.goto("/console")
        entry = self.page.locator(".figures > div").filter(has_text=name).first
        return entry.locator("dd").text_content() if entry.count() else None

    def row(self):
        """The row of the table of money."""
        self.page.goto("/console/money")
        cells = self.page.locator("tbody tr").first.locator("td")
        return {each.get_attribute("data-label"): each.text_content() for each in cells.all()}


@pytest.fixture
def variables(variables):
    """A stated address counts at once."""
    return {**variables, **AT_ONCE}


@pytest.fixture
def night(stack, node, visit):
    """A console that was opened by the link that `tenants create` prints, with a wallet."""
    stack.start_worker()
    made = in_process(stack, "tenants", "create", "harbour", "--name", "Harbour Nights", "--json")
    wallet = InjectedWallet([account(node, OWNER)], {CHAIN: node}, atomic="supported")
    page = visit(stack.url, script=f"(() => {{ {wallet.script} }})();", **DESKTOP)
    wallet.connect(page)
    page.goto(json.loads(made)["first_sign_in"])
    return Night(stack, node, page)


def test_an_organizer_sells_and_spends_without_a_terminal(night, visit):
    page, node, owner = night.page, night.node, checksum(account(night.node, OWNER))
    page.get_by_label("Email").fill("ada@example.org")
    page.get_by_label("New password").fill(PASSWORD)
    page.get_by_role("button", name="Set the password and sign in").click()

    night.next_step()
    page.get_by_role("button", name="Use my browser wallet").click()
    expect(page.get_by_label("Paste its address")).to_have_value(re.compile(owner, re.I))
    page.get_by_label("Yes, it is the same").check()
    page.get_by_label("Local").check()
    page.get_by_role("button", name="Save and go on").click()
    page.get_by_label("Your password").first.fill(PASSWORD)
    with page.expect_download() as started:
        page.get_by_role("button", name="Save the recovery file").first.click()
    assert json.loads(started.value.path().read_text())["wallets"][0]["owner"] == owner

    night.next_step()
    page.get_by_label("Title").fill("Songs from the Harbour")
    page.get_by_label("Time zone").fill("Europe/Berlin")
    page.get_by_label("Begins").fill("2031-06-01T19:30")
    page.get_by_label("Name").fill("Standing")
    page.get_by_label("Price in USDC").fill("12.50")
    page.get_by_label("How many of them").fill("10")
    page.get_by_role("button", name="Create as a draft").click()
    night.next_step()
    page.get_by_role("button", name="Publish").click()
    expect(page.get_by_text("On sale at")).to_be_visible()

    night.follow("Overview")
    path = page.locator(".steps li:not(.done) a").first.get_attribute("href")
    buyer = visit(night.stack.url, **PHONE)
    buyer.goto(path)
    expect(buyer.get_by_text("Sunday, 1 June 2031")).to_be_visible()
    buyer.get_by_role("button", name="Order").click()
    buyer.get_by_role("button", name="Pay from the demo wallet").click()
    expect(buyer.get_by_role("status")).to_have_text("Paid", timeout=PATIENCE)

    # Nine more: two pay too much, and one pays too much and too late.
    (event,) = night.client.send("GET", "/v1/public/tenants/harbour/events").json["data"]
    types = f"/v1/public/tenants/harbour/events/{event['id']}/tickets"
    (ticket,) = night.client.send("GET", types).json["data"]
    # With an address to which it can be told where a refund goes, nobody has to check that.
    wanted = {"event_id": event["id"], "ticket_id": ticket["id"]}
    wanted["buyer"] = {"email": "guest@example.org"}
    late, *others = [night.order(wanted) for _ in range(9)]
    dear = others[:2]
    for each in others:
        night.pay(each, PRICE + (SURPLUS if each in dear else 0))
    for each in others:
        night.until(each, status="confirmed")
    node.rpc("evm_increaseTime", HOLD_SECONDS + 1)
    node.rpc("anvil_mine", "0x1")
    night.until(late, status="expired")
    night.pay(late, PRICE + SURPLUS)
    # While no order waits, the worker looks every 20 s. A buyer's question looks at once.
    eventually(lambda: night.ask(late, "POST", "/purchase").get("status") == "confirmed")
    for each in (late, *dear):
        stated = night.ask(each, "POST", "/refund-address", {"address": anvil.BUYER})
        assert stated["refund_due"] == SURPLUS, stated
        night.until(each, refund_pending=0)

    assert (night.figure("Kept"), night.figure("Owed back")) == ("125.00", "7.50")
    assert (night.figure("Tickets"), night.figure("Paid back")) == ("10", None)
    assert night.row() == {
        "Received": "132.50",
        "Paid back": "0.00",
        "Owed back": "7.50",
        "Kept": "125.00",
        "Moved so far": "0.00",
        "Ready to move": "132.50",
    }
    night.next_step()
    night.follow("Move it to my wallet")
    expect(page.locator("#what")).to_have_text("132.50 USDC moved")
    assert balance(node, owner) == 10 * PRICE + 3 * SURPLUS

    night.follow("Your money")
    night.follow("Pay back what I owe")
    expect(page.locator("#what")).to_have_text("7.50 USDC paid back")
    assert balance(node, owner) == 10 * PRICE
    eventually(lambda: night.row()["Paid back"] == "7.50")
    eventually(lambda: night.row()["Moved so far"] == "132.50")
    assert night.row() == {
        "Received": "132.50",
        "Paid back": "7.50",
        "Owed back": "0.00",
        "Kept": "125.00",
        "Moved so far": "132.50",
        "Ready to move": "0.00",
    }
    assert (night.figure("Kept"), night.figure("Paid back")) == ("125.00", "7.50")
    assert night.figure("Owed back") is None

    page.get_by_role("button", name="I can spend it").click()
    night.follow("Overview")
    expect(page.locator(".steps")).to_have_count(0)
    page.get_by_role("link", name="Songs from the Harbour").first.click()
    expect(page.get_by_text("sold out").first).to_be_visible()
    buyer.goto(path)
    expect(buyer.get_by_text("Sold out", exact=True)).to_be_visible()
