"""What is owed is paid back by wallets in a real browser, on a real node, and nobody twice."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.support.browser import axe
from tests.support.databases import only_once
from tests.support.injected_wallet import asked, until_asked
from tests.support.money import AT_ONCE, FRIENDS, OTHER, OWNER, Shop, grow
from tests.support.receivers import data_of
from tests.support.refunds import STRANGER_ADDRESS, account, give_back
from tests.support.remote import eventually
from ticketing.chain import receivers
from tools import anvil

pytestmark = only_once

PAY_BACK = "/console/money/pay-back"
SEND = "eth_sendTransaction"
AGAIN = "Ask my wallet again"
SURPLUS = 20_000_000
NO_RECEIPTS = {"rejects": {"eth_getTransactionReceipt": {"code": -32000, "message": "no"}}}
SILENT_AFTERWARDS = {"switches": {SEND: NO_RECEIPTS}}
"""The wallet's node knows buyers' payments, and no receipt of what is signed."""

APPROVE = "approve(address,uint256)"


@pytest.fixture
def variables(variables):
    return {**variables, **AT_ONCE}


@pytest.fixture
def shop(stack, node, visit):
    shop = Shop(stack, node, visit)
    anvil.send(node.rpc, 0, {"to": receivers.PROXY, "data": receivers.deploy_data()})
    return shop


def press(page):
    page.get_by_role("button", name="Pay it back with Stub").click()


def says(page, text):
    expect(page.locator(".moves")).to_contain_text(text)


def opened(shop, *wallets):
    page = shop.console(*(wallets or [shop.wallet()]))
    page.goto(PAY_BACK)
    return page


def paid(shop, number):
    """Whether so many of FRIENDS have their money, each once."""
    balances = [shop.balance(each) for each in FRIENDS[:number]]
    return balances == [SURPLUS] * number


def booked(shop, orders):
    """Wait until the books say that each has its money, once."""
    for each in orders:
        shop.until(each, lambda it: it["refund_due"] == 0)
        assert [refund["amount"] for refund in shop.remote.intent(each)["refunds"]] == [SURPLUS]


def allow(shop, amount, index=OWNER):
    data = data_of(APPROVE, receivers.FACTORY, amount)
    anvil.send(shop.node.rpc, index, {"to": anvil.TOKEN_ADDRESS, "data": data})


@pytest.mark.parametrize("atomic", [None, "supported"])
def test_everybody_is_paid_back_by_one_press(shop, atomic):
    shop.fund(2 * SURPLUS)
    orders = shop.owed(2, SURPLUS, names=["Jonas Weber"])
    page = shop.console(shop.wallet(atomic=atomic))
    expect(page.get_by_role("link", name="Jonas Weber")).to_be_visible()
    page.get_by_role("link", name="Pay back what I owe").click()
    expect(page.locator("#what")).to_have_text("40.00 USDC paid back")
    result = page.locator("#result")
    expect(result).to_contain_text("To 2 people.")
    expect(result).to_contain_text("Jonas Weber")
    expect(result).to_contain_text("guest-1@example.org")
    assert axe(page) == []
    assert paid(shop, 2) and shop.balance(shop.owner) == 0
    sent, batches = asked(page, SEND), asked(page, "wallet_sendCalls")
    assert (len(sent), len(batches)) == ((2, 0) if atomic is None else (0, 1))
    booked(shop, orders)
    page.goto(PAY_BACK)
    expect(page.get_by_text("Nothing can be paid back from a wallet at the moment")).to_be_visible()


def test_the_wallet_is_asked_only_after_the_names_were_shown(shop):
    shop.fund(SURPLUS)
    shop.owed(1, SURPLUS, names=["Jonas Weber"])
    page = opened(shop)
    page.evaluate("wallet.hangs.push('eth_sendTransaction')")
    press(page)
    until_asked(page, SEND)
    for text in ("Jonas Weber", FRIENDS[0], "20.00 USDC of your account"):
        says(page, text)
    assert axe(page) == []


def test_two_administrators_with_two_wallets_pay_nobody_twice(shop):
    orders = shop.owed(2, SURPLUS)
    pages = []
    for index in (OWNER, OTHER):
        shop.fund(2 * SURPLUS, index)
        page = opened(shop, shop.wallet(index))
        page.evaluate("wallet.hangs.push('eth_sendTransaction')")
        press(page)
        if index == OTHER:
            says(page, "It is not the wallet that your money goes to.")
            page.get_by_role("button", name="Pay from 0x").click()
        pages.append(page)
    first, second = pages
    until_asked(first, SEND)
    says(second, "2 orders wait: another account may pay them until")
    first.evaluate("wallet.hangs = []; wallet.waiting.forEach(go => go())")
    expect(first.locator("#result")).to_be_visible()
    assert asked(second, SEND) == []
    booked(shop, orders)
    assert paid(shop, 2) and shop.balance(account(shop.node, OTHER)) == 2 * SURPLUS


def test_two_tabs_that_both_sign_pay_nobody_twice(shop, visit):
    orders = shop.owed(2, SURPLUS)
    shop.fund(4 * SURPLUS)
    allow(shop, 4 * SURPLUS)
    wallet = shop.wallet()
    wallet.script += "\nObject.defineProperty(Navigator.prototype, 'locks', { value: undefined });"
    pages = [opened(shop, wallet)]
    pages.append(pages[0].context.new_page())
    pages[1].goto(PAY_BACK)
    for page in pages:
        page.evaluate("wallet.hangs.push('eth_sendTransaction')")
        press(page)
        until_asked(page, SEND)
    # Some wallets try it first, and do not send what would fail.
    nothing = re.compile("Stub reported an error|did not do what you were asked to sign")
    for page, text in zip(pages, ("Paid back.", nothing), strict=True):
        page.evaluate("wallet.hangs = []; wallet.waiting.forEach(go => go())")
        says(page, text)
    booked(shop, orders)
    assert paid(shop, 2) and shop.balance(shop.owner) == 2 * SURPLUS


def _word(data, at, value):
    start = 10 + 64 * at
    return data[:start] + f"{value:0>64}" + data[start + 64 :]


ALTERED = {
    "another payee": lambda it: {"data": _word(it["data"], 5, STRANGER_ADDRESS[2:].lower())},
    "another amount": lambda it: {"data": _word(it["data"], 6, f"{2 * SURPLUS:x}")},
    "another id": lambda it: {"data": _word(it["data"], 4, "1")},
    "a later end": lambda it: {"data": _word(it["data"], 1, f"{2**40:x}")},
    "another contract": lambda it: {"to": STRANGER_ADDRESS},
    "a transfer": lambda it: {
        "to": anvil.TOKEN_ADDRESS,
        "data": anvil.transfer_data(STRANGER_ADDRESS, SURPLUS),
    },
}
APPROVALS = {
    "a larger allowance": lambda it: {"data": _word(it["data"], 1, "f" * 64)},
    "another spender": lambda it: {"data": _word(it["data"], 0, STRANGER_ADDRESS[2:].lower())},
    "another token": lambda it: {"to": STRANGER_ADDRESS},
}


@pytest.mark.parametrize("atomic", [None, "ready"])
def test_other_bytes_are_never_sent(shop, atomic):
    shop.owed(1, SURPLUS)
    shop.fund(3 * SURPLUS)
    page = opened(shop, shop.wallet(atomic=atomic))
    change = {}

    def answer(route):
        real = route.fetch()
        found = real.json()
        for each in found["transactions"]:
            each.update(change.get(each["purpose"], lambda it: {})(each))
        route.fulfill(response=real, json=found)

    page.route("**/console/money/payouts", answer)
    cases = [*(("refund", each) for each in ALTERED.values())]
    cases += [*(("approve", each) for each in APPROVALS.values())]
    press(page)
    for at, (purpose, altered) in enumerate(cases):
        change.clear()
        change[purpose] = altered
        if at == 0:
            page.reload()
            press(page)
        else:
            page.get_by_role("button", name=AGAIN).click()
        says(page, "not what this page expects")
    assert asked(page, SEND) == asked(page, "wallet_sendCalls") == []


def test_an_allowance_that_is_enough_is_used_and_the_rest_is_taken_back(shop):
    shop.owed(1, SURPLUS)
    shop.fund(SURPLUS)
    allow(shop, 3 * SURPLUS)
    page = opened(shop)
    press(page)
    expect(page.locator("#result")).to_be_visible()
    assert len(asked(page, SEND)) == 1
    says(page, "The contract may still take 40.00 USDC of your account.")
    page.get_by_role("button", name="Take it back").click()
    asked_for = data_of("allowance(address,address)", shop.owner, receivers.FACTORY)
    call = {"to": anvil.TOKEN_ADDRESS, "data": asked_for}

    def is_taken_back():
        page.wait_for_timeout(50)  # the wallet is in this process, and answers meanwhile
        return int(shop.node.rpc("eth_call", call, "latest"), 16) == 0

    eventually(is_taken_back)
    expect(page.get_by_role("button", name="Take it back")).to_have_count(0)


def test_a_token_that_changes_an_allowance_from_0_only_gets_two(shop):
    shop.owed(1, SURPLUS)
    shop.fund(SURPLUS)
    allow(shop, 1)
    page = opened(shop)
    page.evaluate("wallet.rejects.eth_estimateGas = { code: 3, message: 'execution reverted' }")
    press(page)
    expect(page.locator("#result")).to_be_visible()
    first, second, _ = (each[0]["data"] for each in asked(page, SEND))
    assert int(first[74:], 16) == 0 and int(second[74:], 16) == SURPLUS
    assert paid(shop, 1)


def test_who_has_too_little_is_told_to_move_the_money_first(shop):
    shop.owed(2, SURPLUS)
    page = opened(shop)
    press(page)
    says(page, "2 orders wait: your account has only 0.00 USDC on Local. Move your money first.")
    shop.fund(SURPLUS)
    page.reload()
    press(page)
    expect(page.locator("#what")).to_have_text("20.00 USDC paid back")
    says(page, "1 order waits: your account has only 0.00 USDC")
    assert paid(shop, 1)


def test_a_page_that_is_closed_after_signing_shows_what_was_paid(shop, node):
    orders = shop.owed(2, SURPLUS)
    shop.fund(2 * SURPLUS)
    allow(shop, 2 * SURPLUS)
    page = opened(shop)
    node.rpc("evm_setAutomine", False)
    press(page)
    says(page, "Signed. Waiting for Local.")
    page.reload()
    says(page, "Signed. Waiting for Local.")
    expect(page.get_by_role("button", name="Pay it back with Stub")).to_have_count(0)
    node.rpc("evm_setAutomine", True)
    node.rpc("anvil_mine", "0x1")
    says(page, "Paid back.")
    assert asked(page, SEND) == []
    booked(shop, orders)
    assert paid(shop, 2)


def test_a_transaction_of_which_the_wallet_lost_the_hash_is_found_by_its_effect(shop, node):
    orders = shop.owed(1, SURPLUS)
    shop.fund(2 * SURPLUS)
    allow(shop, 2 * SURPLUS)
    page = opened(shop)
    page.evaluate("all => Object.assign(wallet, all)", SILENT_AFTERWARDS)
    press(page)
    says(page, "Signed. Waiting for Local.")
    grow(node)
    expect(page.locator("#what")).to_have_text("20.00 USDC paid back")
    assert len(asked(page, SEND)) == 1
    booked(shop, orders)
    assert paid(shop, 1)


def test_what_nobody_has_seen_is_never_called_paid(shop, node):
    shop.owed(1, SURPLUS)
    shop.fund(SURPLUS)
    allow(shop, SURPLUS)
    page = opened(shop)
    page.evaluate("wallet.drops = [1]")
    press(page)
    says(page, "Signed. Waiting for Local.")
    # Now it is not proposed: the account has too little.
    data = anvil.transfer_data(FRIENDS[0], SURPLUS)
    anvil.send(node.rpc, OWNER, {"to": anvil.TOKEN_ADDRESS, "data": data})
    grow(node)
    says(page, "It is not clear whether it arrived on Local")
    row = page.locator(".moves > li")
    expect(row.get_by_role("link", name="Your money")).to_be_visible()
    expect(row.locator(".move-state")).not_to_contain_text("Paid back")
    assert axe(page) == []
    row.get_by_role("button", name=f"{AGAIN}: Local").click()
    says(page, "Nothing can be paid back on Local now.")
    says(page, "1 order waits: your account has only 0.00 USDC on Local.")
    assert len(asked(page, SEND)) == 1


def test_another_account_pays_only_after_a_press(shop):
    shop.owed(1, SURPLUS)
    shop.fund(SURPLUS, OTHER)
    page = opened(shop, shop.wallet(OTHER))
    asked_for = []
    page.on("request", lambda it: asked_for.append(it.url))
    press(page)
    says(page, "For 72 hours nobody else can pay these.")
    assert axe(page) == []
    assert not [each for each in asked_for if each.endswith("/payouts")]
    page.get_by_role("button", name="Pay from 0x").click()
    expect(page.locator("#what")).to_have_text("20.00 USDC paid back")
    assert paid(shop, 1)


def test_a_silent_wallet_after_a_reload_can_be_given_up(shop, node):
    shop.owed(1, SURPLUS)
    shop.fund(SURPLUS)
    allow(shop, SURPLUS)
    page = opened(shop)
    page.evaluate("wallet.drops = [1]")
    press(page)
    says(page, "Signed. Waiting for Local.")
    shop.stack.kill("worker")
    page.add_init_script("setTimeout(() => wallet.hangs.push('eth_chainId'))")
    page.add_init_script(
        "for (const [key, it] of Object.entries(localStorage)) if (key.startsWith('signed '))"
        " localStorage.setItem(key, JSON.stringify({ ...JSON.parse(it), at: 0, head: 2 ** 40 }))"
    )
    page.reload()
    page.get_by_role("button", name="Stop waiting").click()
    says(page, "It is not clear whether it arrived on Local")
    page.evaluate("wallet.hangs = []; wallet.waiting.forEach(go => go())")
    press(page)
    expect(page.locator("#what")).to_have_text("20.00 USDC paid back")
    assert paid(shop, 1)


def test_the_second_transaction_is_dropped(shop, node):
    shop.owed(1, SURPLUS)
    shop.fund(SURPLUS)
    page = opened(shop)
    page.evaluate("wallet.drops = [2]")
    press(page)
    says(page, "Signed. Waiting for Local.")
    until_asked(page, SEND, 2)
    grow(node)
    says(page, "It has not arrived on Local yet.")
    assert not paid(shop, 1)
    page.get_by_role("button", name=AGAIN).click()
    expect(page.locator("#what")).to_have_text("20.00 USDC paid back")
    assert paid(shop, 1)


def stops(shop, page, payer):
    """The page names the account that paid, asks nothing more, and has told the server."""
    says(page, f"The account {payer[:8].lower()}…{payer[-6:].lower()} has paid this refund")
    says(page, "We told the server, which looks at it now.")
    expect(page.locator(".moves")).not_to_contain_text("Nothing is lost")
    for name in (AGAIN, "Pay it back with Stub"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)
    expect(page.locator(".moves > li").get_by_role("link", name="Your money")).to_be_visible()
    assert axe(page) == []


@pytest.fixture
def ignoring(shop, node):
    """A page, one payment that is due, and how a wallet behaves that signs with OTHER."""
    (order,) = shop.owed(1, SURPLUS)
    for index in (OWNER, OTHER):
        shop.fund(2 * SURPLUS, index)

    def open_with(atomic=None, **behaviour):
        if atomic is None:
            allow(shop, 2 * SURPLUS, OWNER)
            allow(shop, 2 * SURPLUS, OTHER)
        page = opened(shop, shop.wallet(atomic=atomic))
        page.evaluate(
            "all => Object.assign(wallet, all)", {"signer": account(node, OTHER), **behaviour}
        )
        return page

    return order, open_with


IGNORING = {
    "it answers the hash": (None, {}),
    "it answers another hash": (None, {"replaces": True}),
    "its node has no receipts": (None, SILENT_AFTERWARDS),
    "several calls at once": ("supported", {}),
    "several calls at once, without their logs": ("supported", {"silent": True}),
}


@pytest.mark.parametrize("case", IGNORING)
def test_a_wallet_that_signs_with_another_account_is_asked_once(shop, node, ignoring, case):
    _, open_with = ignoring
    atomic, behaviour = IGNORING[case]
    page = open_with(atomic, **behaviour)
    press(page)
    until_asked(page, "wallet_sendCalls" if atomic else SEND)
    if behaviour and not atomic:
        grow(node)
    stops(shop, page, account(node, OTHER))
    assert len(asked(page, SEND)) + len(asked(page, "wallet_sendCalls")) == 1
    assert paid(shop, 1)


def test_a_wallet_that_rejects_sends_and_switches_is_found_out(shop, node, ignoring):
    _, open_with = ignoring
    page = open_with(denies=True)
    press(page)
    says(page, "Stub says that you closed the request.")
    page.reload()
    page.evaluate("account => { wallet.signer = account }", account(node, OTHER))
    press(page)
    stops(shop, page, account(node, OTHER))
    assert asked(page, SEND) == [] and paid(shop, 1)


def test_a_wallet_that_rejects_and_sends_is_asked_once(shop, node, ignoring):
    order, open_with = ignoring
    page = open_with(denies=True, signer=None)
    press(page)
    says(page, "Stub says that you closed the request.")
    page.get_by_role("button", name=AGAIN).click()
    expect(page.locator("#what")).to_have_text("20.00 USDC paid back")
    assert len(asked(page, SEND)) == 1
    booked(shop, [order])
    assert paid(shop, 1)


@pytest.mark.parametrize("signer", [OWNER, OTHER])
def test_what_is_signed_after_the_page_was_closed_is_found(shop, node, ignoring, signer):
    _, open_with = ignoring
    page = open_with(signer=None)
    page.evaluate("wallet.hangs.push('eth_sendTransaction')")
    press(page)
    until_asked(page, SEND)
    call = asked(page, SEND)[0][0]
    page.goto("about:blank")
    anvil.send(node.rpc, signer, {"to": call["to"], "data": call["data"]})
    page.goto(PAY_BACK)
    press(page)
    if signer == OWNER:
        expect(page.locator("#what")).to_have_text("20.00 USDC paid back")
    else:
        stops(shop, page, account(node, OTHER))
    assert asked(page, SEND) == [] and paid(shop, 1)


def test_a_node_without_events_is_asked_about_each_account(shop, node, ignoring):
    _, open_with = ignoring
    no_events = {"eth_getLogs": {"code": -32005, "message": "too many blocks"}}
    page = open_with(denies=True, signer=None, rejects=no_events)
    press(page)
    says(page, "Stub says that you closed the request.")
    page.get_by_role("button", name=AGAIN).click()
    expect(page.locator("#what")).to_have_text("20.00 USDC paid back")
    assert len(asked(page, SEND)) == 1 and paid(shop, 1)


def test_an_id_that_the_account_used_for_something_else_ends_it(shop, node, ignoring):
    _, open_with = ignoring
    page = open_with(signer=None)
    page.evaluate("wallet.hangs.push('eth_sendTransaction')")
    press(page)
    until_asked(page, SEND)
    call = asked(page, SEND)[0][0]
    # The same id, for 1 unit.
    anvil.send(node.rpc, OWNER, {"to": call["to"], "data": _word(call["data"], 6, "1")})
    page.get_by_role("button", name=AGAIN).click()
    says(page, "has used the number of this refund for another payment.")
    says(page, "We told the server, which looks at it now.")
    assert len(asked(page, SEND)) == 1


def test_a_stranger_in_the_same_block_stops_nothing(shop, node, ignoring):
    _, open_with = ignoring
    page = open_with(signer=None)
    page.evaluate("wallet.hangs.push('eth_sendTransaction')")
    press(page)
    until_asked(page, SEND)
    call = asked(page, SEND)[0][0]
    anvil.send(node.rpc, OTHER, {"to": call["to"], "data": _word(call["data"], 6, "1")})
    page.evaluate("wallet.hangs = []; wallet.waiting.forEach(go => go())")
    expect(page.locator("#what")).to_have_text("20.00 USDC paid back")
    assert len(asked(page, SEND)) == 1


RLO = "\u202e"


def test_a_name_cannot_turn_round_what_stands_beside_it(shop):
    shop.fund(SURPLUS)
    shop.owed(1, SURPLUS, names=[f"{RLO}rebeW sanoJ"])
    page = opened(shop)
    page.evaluate("wallet.hangs.push('eth_sendTransaction')")
    press(page)
    until_asked(page, SEND)
    isolated = page.locator(".shown bdi", has_text="rebeW")
    assert isolated.evaluate("each => getComputedStyle(each).unicodeBidi") == "isolate"
    page.evaluate("wallet.hangs = []; wallet.waiting.forEach(go => go())")
    expect(page.locator("#result bdi", has_text="rebeW")).to_be_visible()


def test_a_refund_is_still_counted_by_its_hash(shop, node):
    (order,) = shop.owed(1, SURPLUS)
    sent = give_back(node, SURPLUS, FRIENDS[0])
    page = shop.console(shop.wallet())
    page.goto(f"/console/refunds/{order['id']}")
    page.get_by_label("Transaction").fill(sent)
    page.get_by_role("button", name="Count this transaction").click()
    expect(page.locator("#settled")).to_be_visible()
    page.goto(PAY_BACK)
    expect(page.get_by_text("Nothing can be paid back from a wallet at the moment")).to_be_visible()


def test_a_safe_gets_the_list_as_a_file(shop, node):
    orders = shop.owed(2, SURPLUS, names=["Jonas Weber"])
    shop.fund(2 * SURPLUS, OTHER)
    page = shop.console(java_script_enabled=False)
    page.goto(PAY_BACK)
    field = page.get_by_label("Account that will sign")
    expect(field).to_have_value(shop.owner)
    field.fill(account(node, OTHER))
    page.get_by_role("button", name="Show the list").click()
    page.get_by_label("Only one node has seen the payments of 2 orders.").check()
    page.get_by_role("button", name="Add them to the list").click()
    listed = page.get_by_role("region", name="What the account signs on Local")
    for text in ("Jonas Weber", *FRIENDS, "40.00"):
        expect(listed).to_contain_text(text)
    with page.expect_download() as started:
        page.get_by_role("button", name="Save the file for a Safe").click()
    for each in json.loads(started.value.path().read_text())["transactions"]:
        anvil.send(node.rpc, OTHER, {"to": each["to"], "data": each["data"]})
    booked(shop, orders)
    assert paid(shop, 2)


def test_those_who_have_not_said_where_to_wait(shop):
    shop.orders(1, surplus=SURPLUS)
    page = opened(shop)
    expect(page.get_by_text("20.00 USDC wait.")).to_be_visible()
    page.get_by_role("link", name="See whom to ask").click()
    expect(page.get_by_role("heading", name="Refunds")).to_be_visible()
