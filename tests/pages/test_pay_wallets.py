"""A wallet in the browser that rejects, hangs, drops, lies, or lacks something; the other ways."""

import re
from dataclasses import replace

import pytest
from playwright.sync_api import expect

from tests.support import buying
from tests.support.browser import axe
from tests.support.databases import only_once
from tests.support.factories import CHAIN, PRICE
from tests.support.injected_wallet import UNKNOWN_CHAIN, InjectedWallet, asked, until_asked
from tests.support.remote import eventually
from tools import anvil
from tools.headless import DESKTOP, PHONE

pytestmark = only_once

POOR = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
"""An account of anvil with coins, and without tokens."""

ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 1 1'%3E"
    "%3Crect width='1' height='1' fill='orange'/%3E%3C/svg%3E"
)
HASH = "0x" + "ab" * 32
NO_LONGER_BUSY = 21_000


@pytest.fixture
def variables(variables):
    return {**variables, "WALLET_RPC_URL_31337": "https://node.example.org/"}


@pytest.fixture
def with_wallet(stack, node, remote, visit):
    """A function that orders a ticket with a wallet in the browser."""

    def with_wallet(account=anvil.BUYER, size=DESKTOP, *, clock=False, **options):
        wallet = InjectedWallet([account], {CHAIN: node}, **options)
        page = visit(stack.url, script=wallet.script, **size)
        wallet.connect(page)
        bought = buying.order(page, node, remote)
        if clock:
            page.clock.install()
            page.reload()
        return bought

    return with_wallet


def button(bought):
    return bought.page.get_by_role("button", name="with Stub")


def press(bought, **changes):
    """Press the button of the wallet, which is changed before."""
    bought.page.evaluate("changes => { Object.assign(wallet, changes) }", changes)
    button(bought).click()


def says(bought, text):
    expect(bought.page.locator("#wallets .said")).to_contain_text(text)


def answer(bought):
    """Let the wallet answer all for which it hangs."""
    bought.page.evaluate("wallet.waiting.forEach((go) => go())")


def pass_until_asked(bought, method, times):
    """Let the page's time pass until the wallet was asked so often."""

    def is_asked():
        bought.page.clock.run_for(1000)
        return len(asked(bought.page, method)) >= times

    eventually(is_asked)


def is_sent(bought):
    """Its page says that it was sent, and does not pay again."""
    says(bought, "Sent.")
    expect(button(bought)).to_be_disabled()


def payment_link(bought):
    """A new tab of the same browser with the payment link."""
    link = bought.page.locator("#payment-link").text_content()
    page = bought.page.context.new_page()
    page.goto(link)
    return replace(bought, page=page)


def paid(bought):
    address = bought.page.locator("#copy-address").get_attribute("data-copy")
    return buying.balance(bought.node, address)


def test_its_button_is_first_on_a_phone_without_scrolling(with_wallet, stack):
    stack.start_worker()
    bought = with_wallet(size=PHONE, icon=ICON)
    page = bought.page
    expect(page.get_by_text("We cannot see Local right now.")).to_have_count(0)
    box = button(bought).bounding_box()
    assert box["y"] + box["height"] < PHONE["viewport"]["height"]
    image = button(bought).locator("img")
    eventually(lambda: image.evaluate("each => each.naturalWidth > 0"))
    assert page.locator("#to-browser").get_attribute("aria-current") == "true"
    assert page.locator(".ways [aria-current]").count() == 1
    expect(page.locator("#phone")).to_be_hidden()
    expect(page.locator(".primary:visible")).to_have_count(1)
    assert axe(page) == []


def test_only_pictures_that_are_in_the_page_are_shown(with_wallet):
    bought = with_wallet(icon="https://elsewhere.example/icon.png")
    expect(button(bought)).to_be_visible()
    expect(button(bought).locator("img")).to_have_count(0)


def test_who_has_chosen_a_way_keeps_it(with_wallet):
    page = with_wallet().page
    page.get_by_role("link", name="Phone wallet").click()
    page.wait_for_url("**?way=phone")
    expect(page.locator("#phone")).to_be_visible()
    page.get_by_role("link", name="Browser wallet").click()
    page.wait_for_url("**?way=browser")
    expect(page.get_by_role("button", name="with Stub")).to_be_visible()
    expect(page.get_by_text("No wallet was found")).to_have_count(0)


NESTED = {"code": -32603, "data": {"originalError": {"code": 4902}}}


@pytest.mark.parametrize(
    "changes",
    [
        {"known": [1]},
        {"known": [1], "stays": True},
        {"rejects": {"wallet_switchEthereumChain": NESTED}},
    ],
    ids=["lacks the network", "adds it and stays", "hides the code"],
)
def test_a_wallet_without_the_network_is_told_of_it(with_wallet, stack, changes):
    stack.start_worker()
    bought = with_wallet()
    press(bought, **changes)
    bought.says("Paid")
    ((network,),) = asked(bought.page, "wallet_addEthereumChain")
    assert network["chainId"] == hex(CHAIN) and network["chainName"] == "Local"
    assert network["rpcUrls"] == ["https://node.example.org/"]
    assert network["nativeCurrency"] == {"name": "ETH", "symbol": "ETH", "decimals": 18}


REFUSALS = [
    ({"eth_requestAccounts": {"code": -32002}}, "A request waits in your wallet."),
    ({"eth_requestAccounts": {"code": -32002, "data": {"code": 0}}}, "A request waits"),
    (
        {"eth_sendTransaction": {"code": 4001}},
        "Nothing was paid. You closed the request",
    ),
    (
        {"eth_sendTransaction": {"code": 4001, "message": "No", "data": {"code": -32000}}},
        "Nothing was paid. You closed the request",
    ),
    (
        {
            "eth_sendTransaction": {
                "code": -32603,
                "message": "Internal JSON-RPC error.",
                "data": {"code": -32000, "message": "insufficient funds"},
            }
        },
        "Your wallet has too little USDC on Local",
    ),
    (
        {"eth_sendTransaction": {"code": -32603, "message": "MetaMask Tx: User denied it."}},
        "Nothing was paid. You closed the request",
    ),
    (
        {
            "wallet_switchEthereumChain": UNKNOWN_CHAIN,
            "wallet_addEthereumChain": {"code": -32601, "message": "no"},
        },
        "Your wallet did not send it.",
    ),
    ({"eth_sendTransaction": None}, "Your wallet did not send it."),
    ({"eth_sendTransaction": "no"}, "Your wallet did not send it."),
]


def test_what_it_refuses_is_said_and_can_be_tried_again(with_wallet):
    bought = with_wallet()
    for rejects, said in REFUSALS:
        press(bought, rejects=rejects, known=[CHAIN], chain=1)
        says(bought, said)
        expect(button(bought)).to_be_enabled()
    assert paid(bought) == 0
    assert bought.page.locator("#by-hand").is_visible()


def test_an_account_with_too_little_is_not_asked_to_pay(with_wallet, node):
    bought = with_wallet(POOR)
    press(bought)
    says(bought, "This account has 0.00 USDC on Local: 5.00 are missing.")
    anvil.transfer(node.rpc, anvil.TOKEN_ADDRESS, POOR, 1_500_000)
    press(bought)
    says(bought, "This account has 1.50 USDC on Local: 3.50 are missing.")
    expect(button(bought)).to_be_enabled()
    assert asked(bought.page, "eth_sendTransaction") == []


def test_a_wallet_that_hangs_can_be_asked_again_and_pays_once(with_wallet):
    bought = with_wallet(clock=True)
    page = bought.page
    press(bought, hangs=["eth_requestAccounts"])
    says(bought, "Please continue in your wallet.")
    expect(button(bought)).to_be_disabled()
    page.clock.run_for(NO_LONGER_BUSY)
    says(bought, "Your wallet has not answered yet.")
    expect(button(bought)).to_be_enabled()
    press(bought, hangs=[])
    says(bought, "Sent.")
    answer(bought)  # now the first request is answered, too
    until_asked(page, "eth_accounts", 0)
    expect(button(bought)).to_be_disabled()
    assert len(asked(page, "eth_sendTransaction")) == 1
    assert paid(bought) == PRICE


def test_a_late_answer_of_a_wallet_counts(with_wallet):
    bought = with_wallet(clock=True)
    press(bought, hangs=["eth_sendTransaction"])
    until_asked(bought.page, "eth_sendTransaction")
    bought.page.clock.run_for(NO_LONGER_BUSY)
    says(bought, "A request to pay may still be open in your wallet. Answer it there.")
    expect(button(bought)).to_be_enabled()
    answer(bought)
    says(bought, "Sent.")
    expect(button(bought)).to_be_disabled()
    assert paid(bought) == PRICE


def test_a_payment_that_its_network_does_not_know_can_be_sent_again(with_wallet):
    bought = with_wallet(clock=True)
    page = bought.page
    press(bought, drops=[1])
    says(bought, "Sent.")
    page.reload()
    says(bought, "Sent.")  # also after a reload
    expect(button(bought)).to_be_disabled()
    page.evaluate("wallet.sent = 1")
    for _ in range(10):
        page.clock.run_for(3000)
        page.evaluate("Promise.resolve()")
    says(bought, "Local does not know this payment.")
    expect(button(bought)).to_be_enabled()
    press(bought)
    says(bought, "Sent.")
    eventually(lambda: paid(bought) == PRICE)


AT_ONCE = {"eth_sendTransaction": HASH, "eth_getTransactionReceipt": None}
"""A wallet that answers so needs no node. It says something else of the transaction."""


def test_what_one_node_of_many_does_not_know_is_not_sent_again(with_wallet):
    bought = with_wallet(clock=True)
    page = bought.page
    press(bought, lies={**AT_ONCE, "eth_getTransactionByHash": None})
    is_sent(bought)
    page.clock.fast_forward(NO_LONGER_BUSY)
    pass_until_asked(bought, "eth_getTransactionByHash", 2)
    page.evaluate("wallet.lies.eth_getTransactionByHash = {}")
    pass_until_asked(bought, "eth_getTransactionByHash", 4)
    is_sent(bought)
    page.evaluate("wallet.lies.eth_getTransactionByHash = null")
    pass_until_asked(bought, "eth_getTransactionByHash", 8)
    says(bought, "Local does not know this payment.")
    expect(button(bought)).to_be_enabled()
    page.evaluate("wallet.lies.eth_getTransactionReceipt = { status: '0x1' }")
    page.clock.run_for(4000)
    is_sent(bought)


def test_what_is_mined_is_not_paid_again_however_late_the_service_sees_it(with_wallet):
    bought = with_wallet(clock=True)
    press(bought)
    is_sent(bought)
    pass_until_asked(bought, "eth_getTransactionReceipt", 2)
    bought.page.clock.fast_forward(301_000)
    bought.page.clock.run_for(70_000)
    is_sent(bought)
    bought.page.reload()
    is_sent(bought)


def test_a_part_from_somebody_else_does_not_end_what_is_on_its_way(with_wallet, stack):
    stack.start_worker()
    bought = with_wallet(clock=True)
    press(bought, lies={**AT_ONCE, "eth_getTransactionByHash": {}})
    is_sent(bought)
    bought.pay(2_000_000)
    bought.says("Received 2.00, still to pay 3.00")
    for _ in range(3):
        bought.page.clock.run_for(3000)
        bought.page.evaluate("Promise.resolve()")
    is_sent(bought)


def test_who_paid_by_hand_is_not_asked_by_the_wallet(with_wallet, stack):
    stack.start_worker()
    bought = with_wallet()
    press(bought, hangs=["eth_requestAccounts"], lies={"eth_call": "0x"})
    until_asked(bought.page, "eth_requestAccounts")
    bought.pay()
    bought.says("Paid")
    answer(bought)
    until_asked(bought.page, "eth_call")  # the last one before the payment
    assert asked(bought.page, "eth_sendTransaction") == []


def test_each_order_keeps_what_was_sent_for_it(with_wallet, node, remote):
    first = with_wallet()
    press(first)
    is_sent(first)
    second = buying.order(first.page.context.new_page(), node, remote)
    press(second)
    is_sent(second)
    first.page.reload()
    is_sent(first)


def test_the_payment_link_knows_what_its_order_has_sent(with_wallet):
    bought = with_wallet()
    press(bought)
    is_sent(bought)
    is_sent(payment_link(bought))


@pytest.fixture
def seen(with_wallet, stack):
    """As `with_wallet`, with a page that shows how long the order is held."""

    def seen():
        stack.start_worker()
        bought = with_wallet(clock=True)
        eventually(lambda: bought.page.reload() and held(bought))
        return bought

    return seen


def held(bought):
    """How many seconds the order is held, as the page of the wallet knows."""
    return int(bought.page.locator("#wallets").get_attribute("data-left") or 0)


def test_after_the_deadline_no_page_pays(seen, visit):
    visit.expect("status of 503")
    order = seen()
    link = payment_link(order)
    for bought in (order, link):
        bought.page.route("**/v1/checkout/**", lambda route: route.fulfill(status=503, body=""))
        press(bought, hangs=["eth_requestAccounts"], lies={"eth_call": "0x"})
        until_asked(bought.page, "eth_requestAccounts")
        bought.page.clock.fast_forward(901_000)
        bought.page.clock.run_for(1000)
        says(bought, "Time is up. Do not pay any more.")
        answer(bought)
        until_asked(bought.page, "eth_call")
        says(bought, "Time is up. Do not pay any more.")
        expect(button(bought)).to_be_disabled()
        assert asked(bought.page, "eth_sendTransaction") == []


def test_a_longer_hold_is_shown_in_all_tabs(seen):
    order = seen()
    link = payment_link(order)
    assert held(order) <= 900 and held(link) <= 900
    other = order.page.context.new_page()
    other.goto(order.path)
    other.get_by_role("button", name="Exchange").click()
    other.wait_for_url("**?way=exchange")
    for bought in (order, link):
        eventually(lambda bought=bought: held(bought) > 3000)


def test_a_payment_that_the_network_refuses_is_said(with_wallet):
    bought = with_wallet(clock=True)
    lies = {"eth_sendTransaction": HASH, "eth_getTransactionReceipt": {"status": "0x0"}}
    press(bought, lies=lies)
    says(bought, "Sent.")
    for _ in range(3):
        bought.page.clock.run_for(3000)
    says(bought, "The network refused the payment.")
    expect(button(bought)).to_be_enabled()


def test_a_wallet_that_never_says_what_it_sent_is_usable_after_five_minutes(with_wallet):
    bought = with_wallet(clock=True)
    press(bought, lies={"eth_sendTransaction": None})
    says(bought, "Sent.")
    bought.page.clock.fast_forward(301_000)
    bought.page.clock.run_for(70_000)
    says(bought, "Local does not know this payment.")
    expect(button(bought)).to_be_enabled()


def test_without_storage_it_pays_and_is_not_pressed_twice(with_wallet, stack):
    bought = with_wallet(has_storage=False)
    press(bought, chain=CHAIN)
    says(bought, "Sent.")
    bought.page.evaluate("document.dispatchEvent(new Event('order-shown'))")
    says(bought, "Sent.")
    expect(button(bought)).to_be_disabled()
    stack.start_worker()
    bought.says("Paid")
    assert len(asked(bought.page, "eth_sendTransaction")) == 1


def test_the_keyboard_pays(with_wallet, stack):
    stack.start_worker()
    bought = with_wallet()
    page = bought.page
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent").endswith("with Stub"):
            break
    ring = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert ring == "solid"
    page.keyboard.press("Enter")
    bought.says("Paid")


@pytest.mark.parametrize("options", [DESKTOP, {**PHONE, "java_script_enabled": False}])
def test_a_buyer_pays_from_an_exchange(stack, node, remote, visit, options):
    stack.start_worker()
    page = visit(stack.url, **options)
    bought = buying.order(page, node, remote)
    before = bought.now()["expires_at"]
    page.get_by_role("button", name="Exchange").click()
    page.wait_for_url("**?way=exchange")
    assert bought.now()["expires_at"] > before
    expect(page.get_by_role("heading", name="Let exactly 5.00 USDC arrive")).to_be_visible()
    if options is DESKTOP:
        assert axe(page) == []
    bought.pay()
    bought.says("Paid")


@pytest.mark.parametrize("way", ["browser", "phone", "exchange"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_way_is_accessible_and_fits_a_small_screen(stack, node, remote, visit, way, scheme):
    narrow = {**PHONE, "viewport": {"width": 320, "height": 640}, "color_scheme": scheme}
    page = visit(stack.url, **narrow)
    bought = buying.order(page, node, remote)
    page.goto(f"{bought.path}?way={way}")
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true })")
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_open_in_wallet_says_what_to_do_if_nothing_opens(stack, node, remote, visit):
    page = visit(stack.url, **PHONE)
    buying.order(page, node, remote)
    page.clock.install()
    page.reload()
    page.evaluate(
        "addEventListener('click', (event) => event.target.closest('#open-wallet')"
        " && event.preventDefault())"
    )
    page.get_by_role("link", name="Open in wallet").click()
    page.clock.run_for(2500)
    expect(page.locator("#not-opened")).to_have_text(re.compile("^No wallet has opened"))
