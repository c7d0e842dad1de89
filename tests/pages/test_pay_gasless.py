"""Paying without a network fee in a real browser: wallets that sign, say no, cannot, or hang."""

import re
from dataclasses import replace

import pytest
from playwright.sync_api import expect

from tests.support import buying
from tests.support.browser import axe
from tests.support.databases import only_once
from tests.support.factories import CHAIN, PRICE
from tests.support.injected_wallet import NO_METHOD, REJECTED, InjectedWallet, asked, until_asked
from tests.support.remote import eventually
from tests.support.x402 import Facilitator
from tools import anvil
from tools.headless import DESKTOP, PHONE

pytestmark = [pytest.mark.long, only_once]

SIGN = "eth_signTypedData_v4"
WORKER_GOES_ON = 30_000
"""Longer than the worker waits before it asks the facilitator a second time, in milliseconds."""


@pytest.fixture
def facilitator(node):
    with Facilitator(node) as running:
        yield running


@pytest.fixture
def variables(variables, facilitator):
    return {**variables, "X402_FACILITATOR_URL_31337": facilitator.url}


@pytest.fixture
def shop(stack, remote):
    """A stack whose worker knows the token's name."""
    stack.start_worker()
    ticket = remote.ticket()
    slug = remote.path.rpartition("/")[2]
    path = f"/v1/x402/tenants/{slug}/tickets/{ticket['id']}/orders"
    eventually(lambda: remote.client.send("GET", path).status == 402)
    return stack


@pytest.fixture
def with_wallet(shop, node, remote, visit):
    """A function that orders a ticket with a wallet in the browser."""

    def with_wallet(size=DESKTOP, **options):
        wallet = InjectedWallet([anvil.BUYER], {CHAIN: node}, **options)
        page = visit(shop.url, script=wallet.script, **size)
        wallet.connect(page)
        return buying.order(page, node, remote)

    return with_wallet


def button(bought, name="Pay without network fee"):
    return bought.page.get_by_role("button", name=name)


def usual(bought):
    return button(bought, "with Stub")


def press(bought, **changes):
    bought.page.evaluate("changes => { Object.assign(wallet, changes) }", changes)
    button(bought).click()


def says(bought, text, **options):
    expect(bought.page.locator("#wallets .said")).to_contain_text(text, **options)


def answer(bought):
    """Let the wallet answer all for which it hangs."""
    bought.page.evaluate("wallet.hangs = []; wallet.waiting.splice(0).forEach((go) => go())")


def paid(bought):
    return buying.balance(bought.node, bought.now()["address"])


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_it_says_what_is_signed_and_pays_exactly_that(with_wallet, node, size):
    bought = with_wallet(size)
    page, before = bought.page, buying.balance(node, anvil.BUYER)
    expect(page.locator("#gasless")).to_contain_text(
        re.compile(
            "you sign a permission for exactly 5.00 USDC to this order.s address, good for at most"
            " 5 minutes. It can pay nothing else."
        )
    )
    assert axe(page) == []
    press(bought, hangs=[SIGN])
    says(bought, "Please sign in your wallet: a permission for exactly 5.00 USDC")
    expect(page.locator("#wallets .said")).to_contain_text(", good until ")
    answer(bought)
    bought.says("Paid")
    assert paid(bought) == before - buying.balance(node, anvil.BUYER) == PRICE
    assert page.locator("#gasless").count() == 0


def test_who_says_no_can_try_again(with_wallet, facilitator):
    bought = with_wallet()
    press(bought, rejects={SIGN: REJECTED})
    says(bought, "Nothing was paid. You closed the request in your wallet.")
    expect(button(bought)).to_be_enabled()
    expect(usual(bought)).to_be_enabled()
    assert facilitator.asked == []
    press(bought, rejects={})
    bought.says("Paid")


CANNOT = [
    NO_METHOD,
    {"code": 4200, "message": "Unsupported method."},
    {"code": -32603, "message": "Internal error.", "data": {"code": 4100}},
    {"code": -32603, "data": {"originalError": {"code": -32601}}},
]


@pytest.mark.parametrize("error", CANNOT)
def test_a_wallet_that_cannot_sign_has_the_usual_button(with_wallet, error, facilitator):
    bought = with_wallet()
    press(bought, rejects={SIGN: error})
    says(bought, "This wallet cannot sign such a permission. Use its usual button.")
    expect(button(bought)).to_have_count(0)
    expect(bought.page.locator("#gasless")).to_be_hidden()
    usual(bought).click()
    bought.says("Paid")
    assert paid(bought) == PRICE and facilitator.asked == []


def test_without_storage_it_pays_and_is_not_signed_twice(with_wallet, facilitator):
    facilitator.mode = "hang"
    bought = with_wallet(has_storage=False)
    press(bought)
    says(bought, "Signed. We send it now.")
    expect(button(bought)).to_be_disabled()
    eventually(lambda: len(facilitator.asked) == 1)
    bought.page.reload()
    says(bought, "Sent. We are waiting for the network. Do not pay again.")
    expect(usual(bought)).to_be_disabled()
    expect(bought.page.get_by_text("A payment was signed, and is on its way.")).to_be_visible()
    expect(bought.page.get_by_text("Cancel this order")).to_have_count(0)
    facilitator.mode = "submit"
    facilitator.wake()
    bought.says("Paid")
    assert paid(bought) == PRICE


def test_an_unknown_outcome_is_not_signed_again_until_it_is_known(with_wallet, facilitator, node):
    facilitator.mode = "pending"
    bought = with_wallet()
    press(bought)
    says(bought, "Sent. We are waiting for the network.")
    other = replace(bought, page=bought.page.context.new_page())
    other.page.goto(bought.path)
    for each in (bought, other):
        expect(usual(each)).to_be_disabled()
    node.rpc("evm_increaseTime", 301)  # the token does not take it any more
    node.rpc("anvil_mine", "0x1")
    text = "The network did not take what you have signed, and nothing was paid."
    says(bought, text, timeout=2 * WORKER_GOES_ON)
    facilitator.mode = "submit"
    expect(button(bought)).to_be_enabled()
    press(bought)
    bought.says("Paid")
    assert len(facilitator.asked) <= 3 and paid(bought) == PRICE


def test_two_tabs_that_sign_at_once_pay_once(with_wallet, facilitator, node):
    first = with_wallet()
    second = replace(first, page=first.page.context.new_page())
    second.page.goto(first.path)
    for each in (first, second):
        press(each, hangs=[SIGN])
        until_asked(each.page, SIGN)
    for each in (first, second):
        answer(each)
    first.says("Paid")
    second.says("Paid")
    assert len(facilitator.asked) == 1 and paid(first) == PRICE


def test_a_payer_with_the_link_pays_too(with_wallet, visit):
    bought = with_wallet()
    link = bought.page.locator("#payment-link").text_content()
    payer = replace(bought, page=bought.page.context.new_page())
    payer.page.goto(link)
    expect(payer.page.locator("#gasless")).to_contain_text("exactly 5.00 USDC")
    assert axe(payer.page) == []
    press(payer)
    expect(payer.page.get_by_role("heading", name="Paid. Thank you.")).to_be_visible()
    bought.says("Paid")
    assert paid(bought) == PRICE


def test_what_is_signed_after_a_part_arrived_is_not_sent(with_wallet, facilitator):
    bought = with_wallet()
    press(bought, hangs=[SIGN])
    until_asked(bought.page, SIGN)
    bought.pay(2_000_000)
    bought.says("Received 2.00, still to pay 3.00")
    expect(bought.page.locator("#gasless")).to_contain_text("exactly 3.00 USDC")
    answer(bought)
    expect(button(bought)).to_be_enabled()
    assert facilitator.asked == []
    press(bought)
    bought.says("Paid")
    assert paid(bought) == PRICE


def test_what_the_facilitator_refuses_can_be_signed_again(with_wallet, facilitator, visit):
    visit.expect("status of 409")
    facilitator.mode = "refuse"
    bought = with_wallet()
    for _ in range(3):
        press(bought)
        says(bought, "It was refused, and nothing was paid.")
        expect(usual(bought)).to_be_enabled()
    expect(button(bought)).to_have_count(0)
    usual(bought).click()
    bought.says("Paid")


def test_a_signature_that_does_not_arrive_is_sent_again(with_wallet, facilitator, visit):
    visit.expect("ERR_FAILED")
    bought = with_wallet()
    lost = []

    def lose(route):
        if route.request.method == "POST" and not lost:
            lost.append(route)
            route.abort()
        else:
            route.continue_()

    bought.page.route("**/gasless*", lose)
    press(bought)
    says(bought, "Signed, and we cannot be reached. We try again.")
    bought.says("Paid")
    assert len(facilitator.asked) == 1 and len(asked(bought.page, SIGN)) == 1


def test_a_signature_is_not_sent_again_after_its_time(with_wallet, facilitator, visit):
    visit.expect("ERR_FAILED")
    bought = with_wallet()
    bought.page.route("**/gasless", lambda route: route.abort())
    bought.page.evaluate("{ const now = Date.now; Date.now = () => now() + 301_000; }")
    press(bought)
    says(bought, "We cannot be reached, and do not know whether your signature arrived.")
    assert facilitator.asked == []


def test_one_of_several_wallets_is_chosen(shop, node, remote, visit):
    wallets = [InjectedWallet([anvil.BUYER], {CHAIN: node}, name=name) for name in ("One", "Two")]
    page = visit(shop.url, script="\n".join(f"{{{each.script}}}" for each in wallets))
    for each in wallets:
        each.connect(page)
    bought = buying.order(page, node, remote)
    expect(page.get_by_role("radio", name="One")).to_be_checked()
    expect(button(bought, "with One")).to_be_visible()
    page.get_by_role("radio", name="Two").check()
    expect(button(bought, "with Two")).to_be_visible()
    button(bought).click()
    bought.says("Paid")
    asked = page.evaluate("wallet.asked.map(({ method }) => method)")
    assert "eth_signTypedData_v4" not in asked


def test_without_a_script_it_is_not_shown(shop, node, remote, visit):
    page = visit(shop.url, java_script_enabled=False)
    bought = buying.order(page, node, remote)
    for way in ("browser", "phone"):
        page.goto(f"{bought.path}?way={way}")
        expect(page.locator("#gasless")).not_to_be_visible()
        expect(button(bought)).to_have_count(0)
