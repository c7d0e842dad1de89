"""A payment link in a real browser: several people pay for an order of somebody else."""

import pytest
from playwright.sync_api import expect

from tests.support import buying
from tests.support.browser import axe
from tests.support.buying import PATIENCE, WALLET
from tests.support.databases import only_once
from tests.support.factories import PRICE
from tests.support.remote import eventually
from tools import anvil
from tools.headless import DESKTOP, PHONE

pytestmark = only_once


@pytest.fixture
def order(stack, node, remote, visit):
    """An unpaid order in a tab. The worker runs."""
    stack.start_worker()
    return buying.order(visit(stack.url, **DESKTOP), node, remote)


def link_of(order):
    """Open what the order's page says, by keyboard, and return the link."""
    page = order.page
    page.locator("#somebody-else summary").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#payment-link")).to_be_visible()
    for name in ("Copy the link", "Write a mail with the link"):
        page.keyboard.press("Tab")
        focused = page.evaluate(
            "document.activeElement.ariaLabel || document.activeElement.textContent"
        )
        assert focused == name
    code = page.locator("#somebody-else img.qr")
    eventually(lambda: code.evaluate("image => image.complete && image.naturalWidth > 0"))
    assert axe(page) == []
    return page.locator("#payment-link").inner_text()


def says(page, status):
    expect(page.get_by_role("status")).to_have_text(status, timeout=PATIENCE)


def test_one_pays_a_part_by_hand_and_another_the_rest_from_a_wallet(order, node, stack, visit):
    link = link_of(order)
    payer = visit(stack.url, script=WALLET, **PHONE)
    buying.with_wallet(payer, node)
    payer.goto(link)
    says(payer, "Waiting for the payment")
    assert axe(payer) == []
    payer.evaluate("document.getElementById('status').isFirst = true")
    address = payer.locator("#copy-address").get_attribute("data-copy")
    anvil.transfer(node.rpc, anvil.TOKEN_ADDRESS, address, 2_000_000)
    says(payer, "Received 2.00, still to pay 3.00")
    order.says("Received 2.00, still to pay 3.00")
    expect(payer.locator("#copy-amount")).to_have_attribute("data-copy", "3.00")
    payer.get_by_role("button", name="with <b>Stub</b>").click()
    says(payer, "Paid")
    expect(payer.get_by_role("heading", name="Paid. Thank you.")).to_be_visible()
    assert payer.evaluate("document.getElementById('status').isFirst")
    order.says("Paid")
    assert buying.balance(node, address) == PRICE


def test_without_javascript_the_page_reloads_itself(order, node, stack, visit):
    link = link_of(order)
    payer = visit(stack.url, java_script_enabled=False, **DESKTOP)
    payer.goto(link)
    expect(payer.get_by_role("button", name="Copy")).to_have_count(0)
    address = "".join(payer.locator(".chain-address span").all_inner_texts())
    anvil.transfer(node.rpc, anvil.TOKEN_ADDRESS, address, PRICE)
    says(payer, "Paid")


def test_an_order_that_is_canceled_meanwhile_says_that_nobody_shall_pay(order, stack, visit):
    link = link_of(order)
    payer = visit(stack.url, **DESKTOP)
    payer.goto(link)
    says(payer, "Waiting for the payment")
    order.page.get_by_text("Cancel this order").click()
    order.page.get_by_role("button", name="Yes, cancel the order").click()
    says(payer, "Ended")
    expect(payer.get_by_role("heading", name="Do not pay any more.")).to_be_visible()
    assert payer.locator("#copy-address, #wallets").count() == 0
