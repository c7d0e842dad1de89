"""Buyers in a real browser, from the page of an event to the ticket, or to their money."""

import pytest
from playwright.sync_api import expect

from tests.support import buying
from tests.support.buying import WALLET
from tests.support.databases import only_once
from tests.support.factories import PRICE
from tests.support.refunds import FRIEND_ADDRESS, give_back
from tests.support.remote import eventually
from tools.headless import DESKTOP, PHONE

pytestmark = only_once

HOLD_SECONDS = 900


@pytest.fixture
def variables(variables):
    """A stated address counts at once: tests/pages/ has those of the mails that confirm one."""
    return {**variables, "REFUND_CHANGE_HOURS": "0"}


@pytest.fixture
def order(stack, node, remote, visit):
    """A function that orders a ticket in a new tab. The worker runs."""
    stack.start_worker()

    def order(*, script="", **options):
        page = visit(stack.url, script=script, **(options or DESKTOP))
        if script == WALLET:
            buying.with_wallet(page, node)
        return buying.order(page, node, remote)

    return order


def pass_deadline(node):
    node.rpc("evm_increaseTime", HOLD_SECONDS + 1)
    node.rpc("anvil_mine", "0x1")


def follow_to_ticket(page):
    page.locator(".pass h2 a").click()
    page.wait_for_url("**/t/*")


def test_a_buyer_pays_from_a_wallet_in_the_browser(order, node):
    bought = order(script=WALLET)
    page = bought.page
    address = page.locator("#copy-address").get_attribute("data-copy")
    page.evaluate("document.getElementById('status').isFirst = true")
    page.get_by_role("button", name="with <b>Stub</b>").click()
    bought.says("Paid")
    assert page.evaluate("document.getElementById('status').isFirst")
    asked = page.evaluate("wallet.asked")
    assert asked.index("wallet_switchEthereumChain") < asked.index("eth_sendTransaction")
    assert buying.balance(node, address) == PRICE
    follow_to_ticket(page)


def test_a_buyer_pays_the_address_by_hand_in_two_parts(order):
    bought = order()
    bought.pay(2_000_000)
    bought.says("Received 2.00, still to pay 3.00")
    expect(bought.page.locator("#copy-amount")).to_have_attribute("data-copy", "3.00")
    bought.pay(3_000_000)
    bought.says("Paid")
    follow_to_ticket(bought.page)


def test_a_buyer_pays_by_phone(order):
    bought = order(**PHONE)
    page = bought.page
    expect(page.get_by_role("link", name="Open in wallet")).to_be_visible()
    assert page.locator(".qr:visible").count() == 0
    page.get_by_text("QR code: address", exact=True).click()
    assert page.locator(".qr:visible").count() == 1
    page.get_by_text("QR code: address and amount", exact=True).click()
    code = page.locator("#code-request img")
    eventually(lambda: code.evaluate("image => image.complete && image.naturalWidth > 0"))
    assert page.locator(".qr:visible").count() == 1
    bought.pay()
    bought.says("Paid")


def test_a_buyer_who_pays_too_late_gets_the_ticket_nevertheless(order, node):
    bought = order()
    address = bought.page.locator("#copy-address").get_attribute("data-copy")
    pass_deadline(node)
    bought.says("Expired")
    # While no order waits, the worker looks every 20 s.
    assert bought.remote.preflight(bought.remote.ticket()).status == 201
    buying.anvil.transfer(node.rpc, buying.anvil.TOKEN_ADDRESS, address, PRICE)
    eventually(lambda: bought.now()["status"] == "confirmed")
    bought.page.reload()
    bought.says("Paid")


def test_a_buyer_whose_money_is_owed_gets_it_back(order, node, remote, visit):
    visit.expect("status of 422")
    bought = order()
    page = bought.page
    bought.pay(2_000_000)
    bought.says("Received 2.00, still to pay 3.00")
    pass_deadline(node)
    bought.says("You get 2.00 USDC back")

    page.get_by_label("Where should it go back to?").fill("0x12")
    page.get_by_role("button", name="Send it there").click()
    expect(page.locator("#address-error")).to_contain_text("not a complete address")
    page.get_by_label("Where should it go back to?").fill(FRIEND_ADDRESS)
    page.get_by_role("button", name="Send it there").click()
    expect(page.get_by_text(FRIEND_ADDRESS)).to_be_visible()

    sent = give_back(node, 2_000_000, FRIEND_ADDRESS)
    path = f"{remote.path}/refunds/{bought.id}/settle"
    assert remote.send("POST", path, {"tx_hash": sent}).status == 200
    page.reload()
    bought.says("Money sent back")
    expect(page.get_by_text(sent)).to_be_visible()


def test_a_buyer_without_javascript_gets_from_the_event_to_the_ticket(order):
    bought = order(java_script_enabled=False)
    page = bought.page
    expect(page.get_by_role("button", name="Copy")).to_have_count(0)
    page.get_by_text("Problem with this payment?").click()
    page.get_by_role("button", name="I have paid: look now").click()
    expect(page.locator("#looked")).to_be_visible()
    bought.pay()
    # The page reloads itself.
    bought.says("Paid")
    follow_to_ticket(page)


def test_a_buyer_uses_the_keyboard_only(stack, node, remote, visit):
    stack.start_worker()
    page = visit(stack.url, **DESKTOP)
    page.goto(buying.event_path(remote, remote.ticket()))
    press(page, "Order")
    page.wait_for_url("**/o/*")
    press(page, "QR code: address and amount")
    expect(page.get_by_text("Some wallets read this code wrong")).to_be_visible()
    with page.expect_navigation():
        press(page, "Pay from the demo wallet")
    buying.Order(page, node, remote).says("Paid")
    press(page, "General admission")
    page.wait_for_url("**/t/*")


def press(page, name):
    """Go to something whose words begin so with the Tab key, then press Enter."""
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.innerText").startswith(name):
            page.keyboard.press("Enter")
            return
    raise AssertionError(f"the keyboard does not reach {name}")


def test_two_tabs_of_one_order_show_the_same(order):
    bought = order()
    other = bought.page.context.new_page()
    other.goto(bought.path)
    bought.page.get_by_text("Cancel this order").click()
    bought.page.get_by_role("button", name="Yes, cancel the order").click()
    bought.says("Canceled")
    buying.Order(other, bought.node, bought.remote).says("Canceled")
    other.get_by_role("button", name="Order the same again").click()
    other.wait_for_url(lambda url: "/o/" in url and bought.id not in url)
    again = buying.Order(other, bought.node, bought.remote)
    again.pay()
    again.says("Paid")


def test_back_and_forward_lead_to_the_order_as_it_is_now(order):
    bought = order()
    path = bought.path
    bought.pay()
    bought.page.go_back()
    expect(bought.page.get_by_role("heading", name="Launch Night")).to_be_visible()
    bought.page.go_forward()
    assert bought.path == path
    bought.says("Paid")


def test_free_tickets_are_one_press_away(stack, node, remote, visit):
    bought = buying.order(
        visit(stack.url, **PHONE), node, remote, price_amount=0, chain_id=None, name="Guest"
    )
    bought.page.get_by_role("button", name="Get my ticket").click()
    bought.says("Done")
    follow_to_ticket(bought.page)
