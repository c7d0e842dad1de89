"""The scanner of a device that sells: a lost network and a reload lose nothing."""

import re

import pytest
from playwright.sync_api import expect

from tests.support.factories import CHAIN, PRICE
from tests.support.scanner import Doors, Phone
from tools import anvil
from tools.headless import PHONE

pytestmark = [pytest.mark.long, pytest.mark.one_database]


@pytest.fixture
def seller(visit, doors):
    """A phone that is paired, and sells."""
    page = visit(doors.url, **PHONE)
    phone = Phone(page)
    phone.pair(doors.device(sells=True))
    return page


def sell(page, quantity=1):
    page.get_by_label("How many").fill(str(quantity))
    page.get_by_role("button", name="Show how to pay").click()


def state(page, text):
    expect(page.locator("#sale-state")).to_have_text(re.compile(text), timeout=30_000)


def test_a_free_ticket_is_sold_and_let_in(seller, doors):
    seller.get_by_role("button", name="Sell tickets").click()
    expect(seller.get_by_label("Balcony")).to_be_checked()
    sell(seller, 2)
    state(seller, "Paid, and let in")
    assert doors.stats()["inside"] == 2
    seller.get_by_role("button", name="Next person").click()
    expect(seller.get_by_role("button", name="Show how to pay")).to_be_visible()
    expect(seller.locator("#sales-open")).to_be_hidden()


def test_a_device_that_does_not_sell_shows_nothing_of_it(visit, doors):
    page = visit(doors.url, **PHONE)
    Phone(page).pair(doors.device())
    expect(page.get_by_role("button", name="Sell tickets")).to_be_hidden()


def test_a_lost_network_and_a_reload_lose_nothing(visit, seller, doors):
    visit.expect("ERR_INTERNET_DISCONNECTED")
    seller.get_by_role("button", name="Sell tickets").click()
    expect(seller.get_by_label("Balcony")).to_be_checked()
    seller.context.set_offline(True)
    sell(seller)
    state(seller, "Asking the server")
    expect(seller.locator("#selling-offline")).to_be_visible(timeout=30_000)
    seller.context.set_offline(False)
    seller.reload()
    seller.get_by_role("button", name="Sell tickets").click()
    # It goes on by itself after the reload, once.
    state(seller, "Paid, and let in")
    assert doors.stats()["inside"] == doors.stats()["admissions"] == 1


class TestPaying:
    @pytest.fixture
    def variables(self, variables):
        early = {f"CONFIRMATIONS_{CHAIN}": "3", f"EARLY_CONFIRMATIONS_{CHAIN}": "1"}
        return {**variables, **early}

    @pytest.fixture
    def doors(self, remote, stack):
        found = Doors(remote, stack.url)
        path = f"{found.path}/tickets/{found.ticket['id']}"
        priced = {"price_amount": PRICE, "chain_id": CHAIN, "capacity": 20}
        assert remote.send("PATCH", path, priced).status == 200
        stack.start_worker()
        return found

    def test_one_pays_in_two_parts_while_the_next_is_served(self, node, seller, doors):
        seller.get_by_role("button", name="Sell tickets").click()
        expect(seller.get_by_label("Balcony")).to_be_checked()
        sell(seller)
        state(seller, "Waiting for the payment")
        expect(seller.locator("#sale-title")).to_contain_text("5.00 USDC")
        for name in ("Address only", "With the amount"):
            seller.get_by_role("button", name=name).click()
            expect(seller.locator("#sale-qr")).to_have_attribute(
                "src", re.compile("^data:image/png")
            )
        seller.get_by_role("button", name="Next person").click()
        expect(seller.locator("#sales li")).to_have_count(1)
        sell(seller, 2)
        expect(seller.locator("#sale-title")).to_contain_text("10.00 USDC")
        orders = doors.remote.send("GET", f"{doors.remote.path}/intents").json["data"]
        first, second = sorted(orders, key=lambda each: each["quantity"])
        anvil.transfer(node.rpc, first["token_address"], first["address"], PRICE // 2)
        anvil.transfer(node.rpc, second["token_address"], second["address"], 2 * PRICE)
        state(seller, "Paid, and let in")
        seller.locator("#sales button").click()
        state(seller, "2.50 USDC.? more are missing")
        rest = PRICE - PRICE // 2
        anvil.transfer(node.rpc, first["token_address"], first["address"], rest)
        state(seller, "Paid, and let in")
        assert doors.stats()["inside"] == 3

    def test_a_sale_is_canceled(self, node, seller, doors):
        seller.get_by_role("button", name="Sell tickets").click()
        expect(seller.get_by_label("Balcony")).to_be_checked()
        sell(seller)
        state(seller, "Waiting for the payment")
        seller.get_by_role("button", name="Cancel this sale").click()
        expect(seller.get_by_role("button", name="Show how to pay")).to_be_visible()
        (order,) = doors.remote.send("GET", f"{doors.remote.path}/intents").json["data"]
        assert order["status"] == "canceled"
