"""Money is moved to the organizer's wallet, by a wallet in a real browser, on a real node."""

import pytest
from playwright.sync_api import expect

from tests.support.browser import axe
from tests.support.databases import only_once
from tests.support.factories import PRICE
from tests.support.injected_wallet import asked
from tests.support.money import Shop

pytestmark = only_once


@pytest.fixture
def shop(stack, node, visit):
    return Shop(stack, node, visit)


def move(page):
    page.get_by_role("link", name="Move it to my wallet").click()


def says(page, text):
    expect(page.locator(".moves")).to_contain_text(text)


@pytest.mark.parametrize("atomic", [None, "supported", "ready"])
def test_it_is_moved_by_one_press(shop, atomic):
    shop.orders(3)
    before = shop.balance(shop.owner)
    page = shop.console(shop.wallet(atomic=atomic))
    expect(page.locator(".wanted")).to_contain_text("15.00")
    assert axe(page) == []
    move(page)
    says(page, "Arrived at")
    assert shop.balance(shop.owner) == before + 3 * PRICE
    expect(page.locator("#what")).to_have_text("15.00 USDC moved")
    assert "#" not in page.url
    assert axe(page) == []
    assert bool(asked(page, "wallet_sendCalls")) is (atomic is not None)
    assert len(asked(page, "eth_sendTransaction")) == (2 if atomic is None else 0)
    page.get_by_role("link", name="Your money").first.click()
    expect(page.get_by_text("15.00 USDC on Local")).to_be_visible()
    expect(page.get_by_text("Nothing can be moved at the moment")).to_be_visible()
