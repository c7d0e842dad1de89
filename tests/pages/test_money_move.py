"""Money is moved to the organizer's wallet, by a wallet in a real browser, on a real node."""

import json

import pytest
from playwright.sync_api import expect

from tests.support.browser import axe, until
from tests.support.databases import only_once
from tests.support.factories import CHAIN, PRICE
from tests.support.injected_wallet import NO_BATCH, NO_METHOD, REJECTED, asked, until_asked
from tests.support.money import OTHER, Shop, grow
from tests.support.refunds import account
from ticketing.chain import abi, receivers
from tools import anvil
from tools.headless import DESKTOP, PHONE

pytestmark = only_once

MOVE = "/console/money/move"
AGAIN = "Ask my wallet again"
SEND = "eth_sendTransaction"


@pytest.fixture
def shop(stack, node, visit):
    return Shop(stack, node, visit)


@pytest.fixture
def deployed(node):
    """The factory is on the chain already."""
    anvil.send(node.rpc, 0, {"to": receivers.PROXY, "data": receivers.deploy_data()})


def press(page):
    page.get_by_role("button", name="Move it with Stub").click()


def says(page, text):
    expect(page.locator(".moves")).to_contain_text(text)


def arrives(shop, page, amount):
    says(page, "Arrived at")
    assert shop.balance(shop.owner) == amount


def opened(shop, *wallets):
    """The moving page, before anything is pressed."""
    page = shop.console(*(wallets or [shop.wallet()]))
    page.goto(MOVE)
    return page


@pytest.mark.parametrize("atomic", [None, "supported", "ready"])
def test_it_is_moved_by_one_press(shop, atomic):
    shop.orders(3)
    page = shop.console(shop.wallet(atomic=atomic))
    expect(page.locator(".wanted")).to_contain_text("15.00")
    assert axe(page) == []
    page.get_by_role("link", name="Move it to my wallet").click()
    arrives(shop, page, 3 * PRICE)
    expect(page.locator("#what")).to_have_text("15.00 USDC moved")
    expect(page.get_by_role("status")).to_have_text("15.00 USDC moved")
    assert "#" not in page.url
    assert axe(page) == []
    assert bool(asked(page, "wallet_sendCalls")) is (atomic is not None)
    assert len(asked(page, SEND)) == (2 if atomic is None else 0)
    # While nobody waited, the worker looked every 20 s. Now the books follow in seconds.
    until(page, "fetch('/console/money').then(it => it.text()).then(it => it.includes('on Local'))")
    page.get_by_role("link", name="Your money").first.click()
    expect(page.get_by_text("15.00 USDC on Local")).to_be_visible()
    expect(page.get_by_text("Nothing can be moved at the moment")).to_be_visible()


def test_any_account_with_coins_can_move_it_to_the_owner(shop, deployed):
    shop.orders(1)
    page = opened(shop, shop.wallet(OTHER))
    assert asked(page, "eth_requestAccounts") == []
    press(page)
    arrives(shop, page, PRICE)


@pytest.mark.parametrize("refusal", [NO_METHOD, NO_BATCH])
def test_a_wallet_that_refuses_a_batch_signs_one_by_one(shop, refusal):
    shop.orders(1)
    page = opened(shop, shop.wallet(atomic="ready"))
    page.evaluate("refusal => { wallet.rejects.wallet_sendCalls = refusal }", refusal)
    press(page)
    arrives(shop, page, PRICE)
    assert len(asked(page, "wallet_sendCalls")) == 1 and len(asked(page, SEND)) == 2


@pytest.mark.parametrize("atomic", [None, "supported"])
def test_a_rejected_request_moves_nothing_and_is_asked_again(shop, atomic):
    shop.orders(1)
    page = opened(shop, shop.wallet(atomic=atomic))
    method = "wallet_sendCalls" if atomic else SEND
    page.evaluate("([name, it]) => { wallet.rejects[name] = it }", [method, REJECTED])
    press(page)
    says(page, "Stub says that you closed the request.")
    assert shop.balance(shop.owner) == 0
    assert axe(page) == []
    page.evaluate("wallet.rejects = {}")
    page.get_by_role("button", name=AGAIN).click()
    arrives(shop, page, PRICE)


def test_a_wallet_that_never_answers_can_be_asked_again_or_left(shop, deployed):
    shop.orders(1)
    page = opened(shop)
    page.evaluate("wallet.hangs.push('eth_sendTransaction')")
    press(page)
    until_asked(page, SEND)
    says(page, "Please sign in Stub. It shows:")
    says(page, "1 order")
    assert axe(page) == []
    page.get_by_role("button", name=AGAIN).click()
    until_asked(page, SEND, 2)
    page.get_by_role("button", name="Stop here").click()
    expect(page.locator("#lead")).to_have_text("Stopped. What is done is done.")
    page.evaluate("wallet.hangs = []")
    press(page)
    arrives(shop, page, PRICE)


def test_what_is_signed_after_stopping_is_found(shop, deployed):
    shop.orders(1)
    page = opened(shop)
    page.evaluate("wallet.hangs.push('eth_sendTransaction')")
    press(page)
    until_asked(page, SEND)
    page.get_by_role("button", name="Stop here").click()
    expect(page.locator("#lead")).to_have_text("Stopped. What is done is done.")
    page.evaluate("wallet.hangs = []; wallet.waiting.forEach(go => go())")
    arrives(shop, page, PRICE)


@pytest.mark.parametrize("switch", ["{accounts: [OTHER]}", "{chain: 1}"])
def test_a_switch_in_between_is_never_signed(shop, node, deployed, switch):
    shop.orders(1)
    page = opened(shop)
    switch = switch.replace("OTHER", json.dumps(account(node, OTHER)))
    page.evaluate(f"wallet.switches.eth_getBlockByNumber = {switch}")
    press(page)
    says(page, "Your wallet changed to another account or network in between.")
    assert asked(page, SEND) == []
    page.get_by_role("button", name=AGAIN).click()
    arrives(shop, page, PRICE)


def test_a_wallet_that_does_not_know_the_network_is_told_its_name(shop, deployed):
    shop.orders(1)
    page = opened(shop)
    page.evaluate("wallet.known = []")
    press(page)
    says(page, "Stub does not know Local.")
    page.evaluate(f"wallet.known = [{CHAIN}]")
    page.get_by_role("button", name=AGAIN).click()
    arrives(shop, page, PRICE)


def test_an_account_without_coins_is_told_so(shop, node, deployed):
    shop.orders(1)
    coins = node.rpc("eth_getBalance", account(node, OTHER), "latest")
    node.rpc("anvil_setBalance", account(node, OTHER), "0x0")
    page = opened(shop, shop.wallet(OTHER))
    press(page)
    says(page, "too few coins on Local")
    node.rpc("anvil_setBalance", account(node, OTHER), coins)
    page.get_by_role("button", name=AGAIN).click()
    arrives(shop, page, PRICE)


STRANGER = "90f79bf6eb2c4f870365e785982e1f101e93b906"
ALTERED = {
    "another owner": ("collect", lambda it, owner: {"data": it["data"].replace(owner, STRANGER)}),
    "another contract": ("collect", lambda it, owner: {"to": f"0x{STRANGER}"}),
    "another function": ("collect", lambda it, owner: {"data": "0xa9059cbb" + it["data"][10:]}),
    "more bytes": ("collect", lambda it, owner: {"data": it["data"] + "00" * 32}),
    "another token": (
        "collect",
        lambda it, owner: {"data": it["data"][:74] + f"{STRANGER:0>64}" + it["data"][138:]},
    ),
    "an allowance": (
        "collect",
        lambda it, owner: {
            "to": anvil.TOKEN_ADDRESS,
            "data": f"0x095ea7b3{receivers.FACTORY[2:].lower():0>64}{'f' * 64}",
        },
    ),
    "another deployment": ("deploy", lambda it, owner: {"data": "0x" + "1" * 64 + it["data"][66:]}),
    "a deployment elsewhere": ("deploy", lambda it, owner: {"to": f"0x{STRANGER}"}),
}


def test_other_bytes_are_never_sent(shop):
    shop.orders(1)
    altered = {}
    page = opened(shop, shop.wallet(atomic="ready"))

    def answer(route):
        real = route.fetch()
        found = real.json()
        for each in found["transactions"]:
            if each["purpose"] in altered:
                each.update(altered[each["purpose"]](each, shop.owner[2:].lower()))
        route.fulfill(response=real, json=found)

    page.route("**/console/money/collections", answer)
    for purpose, change in ALTERED.values():
        altered.clear()
        altered[purpose] = change
        page.goto(MOVE)
        press(page)
        says(page, "not what this page expects")
        assert asked(page, SEND) == asked(page, "wallet_sendCalls") == []


@pytest.mark.parametrize("dropped", [1, 2])
def test_what_never_arrives_is_offered_again(shop, dropped):
    shop.orders(1)
    page = opened(shop)
    page.evaluate(f"wallet.drops = [{dropped}]")
    press(page)
    until_asked(page, SEND, dropped)
    says(page, "Signed. Waiting for Local.")
    grow(shop.node)
    says(page, "It has not arrived on Local yet.")
    page.get_by_role("button", name=AGAIN).click()
    arrives(shop, page, PRICE)


def test_a_page_that_is_closed_after_signing_goes_on_when_it_is_opened_again(shop, node, deployed):
    shop.orders(2)
    page = opened(shop)
    node.rpc("evm_setAutomine", False)
    press(page)
    says(page, "Signed. Waiting for Local.")
    other = page.context.new_page()
    other.goto(MOVE)
    page.reload()
    for each in (page, other):
        says(each, "Signed. Waiting for Local.")
        expect(each.get_by_role("button", name="Move it with Stub")).to_have_count(0)
    page.close()
    node.rpc("evm_setAutomine", True)
    node.rpc("anvil_mine", "0x1")
    arrives(shop, other, 2 * PRICE)
    assert asked(other, SEND) == []


def test_a_batch_is_found_again_after_a_reload(shop, deployed):
    shop.orders(101)
    page = opened(shop, shop.wallet(atomic="supported"))
    shop.stack.kill("worker")
    page.evaluate("wallet.hangs.push('wallet_getCallsStatus')")
    press(page)
    says(page, "Signed. Waiting for Local.")
    page.reload()
    arrives(shop, page, 101 * PRICE)


def test_one_tab_asks_at_a_time(shop, deployed):
    shop.orders(1)
    page = opened(shop)
    page.evaluate("wallet.hangs.push('eth_sendTransaction')")
    press(page)
    until_asked(page, SEND)
    other = page.context.new_page()
    other.goto(MOVE)
    press(other)
    expect(other.locator("#lead")).to_contain_text("in another tab")
    assert asked(other, "eth_requestAccounts") == []
    page.close()
    press(other)
    arrives(shop, other, PRICE)


def test_a_link_from_elsewhere_and_a_reload_do_not_start(shop, deployed):
    shop.orders(1)
    page = shop.console(shop.wallet())
    page.goto(f"{MOVE}#start")
    expect(page.get_by_role("button", name="Move it with Stub")).to_be_visible()
    assert asked(page, "eth_requestAccounts") == [] and "#" not in page.url
    page.goto("/console/money")
    page.get_by_role("link", name="Move it to my wallet").click()
    says(page, "Arrived at")
    page.reload()
    expect(page.locator("h1")).to_be_visible()
    assert asked(page, "eth_requestAccounts") == []


def test_of_several_wallets_one_is_chosen(shop, deployed):
    shop.orders(1)
    page = shop.console(shop.wallet(), shop.wallet(OTHER, name="Second"))
    page.goto(f"{MOVE}#start")
    expect(page.locator("#lead")).to_have_text(
        "Your browser has several wallets. Which one shall sign?"
    )
    page.get_by_role("button", name="Move it with Second").click()
    arrives(shop, page, PRICE)
    assert asked(page, "eth_requestAccounts") == []


@pytest.mark.parametrize("has_script", [True, False])
def test_without_a_wallet_there_is_a_file_for_a_safe(shop, node, deployed, has_script):
    shop.orders(2)
    page = shop.console(**DESKTOP, java_script_enabled=has_script)
    page.get_by_role("link", name="Move it to my wallet").click()
    expect(page.get_by_role("button", name="Move it with")).to_have_count(0)
    if has_script:
        expect(page.locator("#lead")).to_contain_text("no wallet that this page can ask")
    expect(page.get_by_text("python -m tools.collect c.json")).to_be_visible()
    with page.expect_download() as started:
        page.get_by_role("link", name="Save the file for Local").click()
    file = json.loads(started.value.path().read_text())
    assert file["chainId"] == str(CHAIN) and file["version"] == "1.0"
    for each in file["transactions"]:
        assert each["value"] == "0"
        anvil.send(node.rpc, OTHER, {"to": each["to"], "data": each["data"]})
    assert shop.balance(shop.owner) == 2 * PRICE


def test_the_keyboard_is_enough(shop, deployed):
    shop.orders(1)
    page = shop.console(shop.wallet())
    link = page.get_by_role("link", name="Move it to my wallet")
    link.focus()
    page.keyboard.press("Enter")
    arrives(shop, page, PRICE)


def test_a_wallet_that_is_elsewhere_after_a_reload_is_not_needed(shop, node, deployed):
    shop.orders(1)
    page = opened(shop)
    node.rpc("evm_setAutomine", False)
    press(page)
    says(page, "Signed. Waiting for Local.")
    page.evaluate("localStorage.removeItem('chosen_chain')")
    page.reload()
    says(page, "Signed. Waiting for Local.")
    node.rpc("evm_setAutomine", True)
    grow(node)
    expect(page.get_by_text("Nothing can be moved at the moment")).to_be_visible()
    assert shop.balance(shop.owner) == PRICE


class TestWhatWaits:
    """The page says what is left, and why. A payment is final after three blocks."""

    @pytest.fixture
    def variables(self, variables):
        return {**variables, "CONFIRMATIONS_31337": "3"}

    @pytest.mark.parametrize("screen", [DESKTOP, PHONE])
    def test_all_that_is_final_is_moved_and_the_rest_is_counted(self, shop, node, deployed, screen):
        """Strangers pay a unit to each order while the worker is down: it costs nobody anything."""
        final = shop.orders(3)
        node.rpc("anvil_mine", "0x3")
        for each in final:
            shop.until(each, lambda it: it["final"])
        live = shop.remote.preflight(shop.remote.ticket()).json
        anvil.transfer(node.rpc, anvil.TOKEN_ADDRESS, live["address"], PRICE - 1)
        shop.until(live, lambda it: it["amount_received"])
        shop.orders(2)
        shop.stack.kill("worker")
        for each in final:
            anvil.transfer(node.rpc, anvil.TOKEN_ADDRESS, each["address"], 1)
        page = shop.console(shop.wallet(), **screen)
        page.get_by_role("link", name="Move it to my wallet").click()
        arrives(shop, page, 3 * PRICE + 3)
        says(page, "2 orders wait: something arrived just now.")
        says(page, "1 order waits: it is still open, or ended less than 24 hours ago.")
        assert page.locator(".notes li").count() == 2
        assert axe(page) == []

    def test_what_the_issuer_took_is_not_called_nothing(self, shop, node, deployed):
        (order,) = shop.orders(1)
        node.rpc("anvil_mine", "0x3")
        shop.until(order, lambda it: it["final"])
        slot = receivers.keccak256(abi.address_word(order["address"]) + (1).to_bytes(32))
        node.rpc("anvil_setStorageAt", anvil.TOKEN_ADDRESS, f"0x{slot.hex()}", f"0x{3:064x}")
        page = opened(shop)
        press(page)
        says(page, "Nothing can be moved on Local at the moment.")
        says(page, "1 order waits: its address holds less than was recorded.")
        assert asked(page, SEND) == []
