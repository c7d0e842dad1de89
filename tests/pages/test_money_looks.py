"""Before refunds are listed, the wallet's own node looks at them, and sometimes a person."""

import json
import re
import time
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.support.browser import axe
from tests.support.databases import only_once
from tests.support.factories import CHAIN
from tests.support.injected_wallet import asked, until_asked
from tests.support.money import AT_ONCE, FRIENDS, OTHER, OWNER, Shop
from tests.support.receivers import data_of
from tests.support.refunds import account
from ticketing.chain import multicall, receivers
from ticketing.chain.address import checksum
from tools import anvil
from tools.headless import DESKTOP, PHONE

pytestmark = only_once

PAY_BACK = "/console/money/pay-back"
SEND = "eth_sendTransaction"
SURPLUS = 20_000_000
MULTICALL = json.loads(Path("tools/contracts/TestMulticall.json").read_text())["runtime"]


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


def opened(shop, *, script="", **options):
    page = shop.console(shop.wallet(), **options)
    page.add_init_script(script)
    page.goto(PAY_BACK)
    return page


def owe(shop, number, names=()):
    """Orders that paid too much, each with a payee of its own. Return them and the payees."""
    orders = shop.orders(number, surplus=SURPLUS, names=names)
    payees = [checksum(f"0x{0x9A7E51 * (at + 7) << 96 | 0xBEEF:040x}") for at in range(number)]
    for each, address in zip(orders, payees, strict=True):
        state(shop, each, address)
    return orders, payees


def state(shop, order, address):
    path = f"{shop.remote.checkout}/intents/{order['id']}/refund-address"
    headers = {"Authorization": f"Bearer {order['client_secret']}"}
    assert shop.remote.client.send("POST", path, {"address": address}, headers).status == 200


def forgetting(node, rewrite="null"):
    """A script: the wallet's node has other receipts of all blocks until now."""
    until = int(node.rpc("eth_blockNumber"), 16)
    return (
        "wallet.rewrites.eth_getTransactionReceipt = each =>"
        f" each && Number(each.blockNumber) <= {until} ? {rewrite} : each;"
    )


def changed(page, change):
    """Let each order of a preview be as `change` says, by its place in the first preview."""
    places = {}

    def answer(route):
        real = route.fetch()
        found = real.json()
        for each in found["orders"]:
            at = places.setdefault(each["intent_id"], len(places))
            each.update(change(at, each))
        route.fulfill(response=real, json=found)

    page.route("**/console/money/payouts/preview", answer)


def reports(page):
    """The reports that this page sends, from now on."""
    found = []
    page.on("request", lambda it: it.url.endswith("/reports") and found.append(it.post_data))
    return found


def test_what_the_wallets_node_does_not_know_is_paid_after_one_tick(shop, node):
    orders, payees = owe(shop, 3, names=["Jonas Weber", "\u202eadA"])
    shop.fund(3 * SURPLUS)
    page = opened(shop, script=forgetting(node))
    press(page)
    says(page, "3 refunds wait for you: look at them below.")
    section = page.get_by_role("region", name="Not known to your wallet")
    for text in (
        "Jonas Weber",
        "guest-2@example.org",
        *payees,
        "Stated by the buyer",
        "Payment of",
    ):
        expect(section).to_contain_text(text)
    assert section.locator("bdi").count() == 3
    assert axe(page) == []
    button = section.get_by_role("button", name="Pay these back with Stub")
    expect(button).to_be_disabled()
    assert asked(page, SEND) == []
    text = re.compile("node doesn.t know these 3 payments, the oldest from")
    box = section.get_by_label(text)
    box.focus()
    page.keyboard.press("Space")
    expect(button).to_be_enabled()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#what")).to_have_text("60.00 USDC paid back")
    assert [shop.balance(each) for each in payees] == [SURPLUS] * 3
    for each in orders:
        shop.until(each, lambda it: it["refund_due"] == 0)


def test_the_known_ones_are_paid_first(shop, node):
    owe(shop, 1)
    script = forgetting(node)
    owe(shop, 1)
    shop.fund(2 * SURPLUS)
    page = opened(shop, script=script)
    press(page)
    says(page, "20.00 USDC paid back. 1 refund waits for you: look at it below.")
    section = page.get_by_role("region", name="Not known to your wallet")
    section.get_by_label(re.compile("node doesn.t know this payment")).check()
    section.get_by_role("button", name="Pay these back with Stub").click()
    expect(page.locator("#what")).to_have_text("40.00 USDC paid back")
    expect(page.locator("#result")).to_contain_text("To 2 people.")


OTHERS = {
    "a failed transaction": "({...each, status: '0x0'})",
    "another block": f"({{...each, blockHash: '0x{'ab' * 32}'}})",
    "no logs": "({...each, logs: []})",
    "another amount": f"JSON.parse(JSON.stringify(each).replace(/{25_000_000:064x}/g, '{1:064x}'))",
}


@pytest.mark.parametrize("case", OTHERS)
def test_what_the_wallets_node_shows_otherwise_is_not_paid_and_is_told(shop, node, case):
    orders, _ = owe(shop, 1, names=["Jonas Weber"])
    shop.fund(SURPLUS)
    page = opened(shop, script=forgetting(node, OTHERS[case]))
    told = reports(page)
    press(page)
    says(page, "node shows another payment than ours for 1 order.")
    says(page, "We told the operator of this host.")
    page.locator(".notes summary").click()
    expect(page.locator(".notes").get_by_role("link", name="Jonas Weber")).to_be_visible()
    assert axe(page) == []
    expect(page.locator(".look")).to_have_count(0)
    assert asked(page, SEND) == []
    assert len(told) == 1 and "kind=other_content" in told[0] and orders[0]["id"] in told[0]


@pytest.mark.parametrize("has_multicall", [False, True])
def test_an_earlier_id_that_is_used_is_not_paid_again_and_is_told(shop, node, has_multicall):
    node.rpc("anvil_setCode", multicall.ADDRESS, MULTICALL if has_multicall else "0x")
    owe(shop, 2)
    shop.fund(2 * SURPLUS)
    page = opened(shop)
    page.evaluate("wallet.hangs.push('eth_sendTransaction')")
    press(page)
    until_asked(page, SEND)
    # Both are listed. For the wallet's node the second id is used, for the service's it is not.
    page.add_init_script(
        "wallet.rewrites.eth_call = (answer, [{ to, data }]) => {"
        "  if (data.startsWith('0xd3b581bd'))"
        f"    return (globalThis.odd ??= data) === data ? '0x{1:064x}' : answer;"
        f"  if (data.startsWith('0x82ad56cb') && answer !== '0x') return answer.slice(0, -1) + '1';"
        "  return answer; };"
    )
    page.reload()
    page.evaluate("Object.keys(localStorage).forEach(each => localStorage.removeItem(each))")
    told = reports(page)
    press(page)
    says(page, "node says that 1 order was paid back before.")
    until_asked(page, SEND)
    assert len(told) == 1 and "kind=id_used" in told[0]
    if has_multicall:
        calls = [each[0]["data"] for each in asked(page, "eth_call")]
        assert not [each for each in calls if each.startswith("0xd3b581bd")]


def test_a_node_that_answers_nothing_leaves_it_to_a_person(shop, node):
    owe(shop, 2)
    shop.fund(2 * SURPLUS)
    script = "wallet.rejects.eth_getTransactionReceipt = { code: -32005, message: 'busy' };"
    page = opened(shop, script=script)
    press(page)
    says(page, "2 refunds wait for you: look at them below.")
    assert asked(page, SEND) == []


CAUTIONS = {
    "email_changed_by_staff": "email address. I asked the buyer, and the address is right.",
    "replaces_proven": "This replaces the wallet that paid, and nobody confirmed it",
    "nobody_told": "email anybody about this address. I asked the buyer",
    "entered": "Your team entered this address.",
}


def test_each_caution_is_ticked_and_one_can_be_left_out(shop, node):
    _, payees = owe(shop, 3)
    shop.fund(3 * SURPLUS)
    now = time.strftime("%Y-%m-%dT%H:%M:00Z", time.gmtime())

    def with_cautions(at, order):
        some = [[], list(CAUTIONS)[:3], ["entered"]][at]
        who = {"source": "entered", "entered_by": "Ada", "effective_at": now} if at == 2 else {}
        return {"cautions": some, "stated_today": True, "differs_from_payer": at == 1, **who}

    page = shop.console(shop.wallet())
    changed(page, with_cautions)
    page.goto(PAY_BACK)
    press(page)
    says(page, "20.00 USDC paid back. 2 refunds wait for you")
    section = page.get_by_role("region", name="Check these before you pay")
    for text in (*CAUTIONS.values(), "Stated today", "Different from the account that paid"):
        expect(section).to_contain_text(text)
    expect(section).to_contain_text(re.compile(r"Entered by .Ada., today, \d\d:\d\d"))
    assert section.get_by_role("checkbox").count() == 4
    assert axe(page) == []
    button = section.get_by_role("button", name="Pay these back with Stub")
    for text in list(CAUTIONS.values())[:3]:
        expect(button).to_be_disabled()
        section.get_by_label(text).check()
    button.click()
    says(page, "40.00 USDC paid back. 1 refund waits for you: look at it below.")
    assert [shop.balance(each) for each in payees] == [SURPLUS, SURPLUS, 0]
    assert len(asked(page, SEND)) == 4  # an allowance and a payment each


def test_an_address_that_was_entered_or_that_nobody_was_told_of_is_ticked(shop, node):
    """What the service itself says, not a changed answer."""
    orders, payees = owe(shop, 2)
    ticket = shop.remote.ticket(capacity=1)
    silent = shop.remote.preflight(ticket).json  # without an email address
    paid = silent["amount"] + SURPLUS
    anvil.transfer(node.rpc, anvil.TOKEN_ADDRESS, silent["address"], paid)
    shop.until(silent, lambda it: it["status"] == "confirmed" and not it["refund_pending"])
    state(shop, silent, FRIENDS[0])
    entered = {"address": FRIENDS[1], "reason": "Ada called"}
    path = f"{shop.remote.path}/refunds/{orders[1]['id']}/payee"
    assert shop.remote.send("PUT", path, entered).status == 200
    shop.fund(3 * SURPLUS)
    page = opened(shop)
    press(page)
    says(page, "20.00 USDC paid back. 2 refunds wait for you: look at them below.")
    section = page.get_by_role("region", name="Check these before you pay")
    for text in (FRIENDS[0], FRIENDS[1], "Entered by", "today, "):
        expect(section).to_contain_text(text)
    for text in (CAUTIONS["nobody_told"], CAUTIONS["entered"]):
        section.get_by_label(text).check()
    section.get_by_role("button", name="Pay these back with Stub").click()
    expect(page.locator("#what")).to_have_text("60.00 USDC paid back")
    assert [shop.balance(each) for each in (payees[0], *FRIENDS)] == [SURPLUS] * 3


def test_what_waits_is_named_with_a_reason(shop, node):
    _, payees = owe(shop, 2, names=["Jonas Weber", "Ada"])
    shop.fund(SURPLUS)
    page = opened(shop)
    press(page)
    says(page, "1 order waits: your account has only 0.00 USDC on Local.")
    page.locator(".notes summary").first.click()
    expect(page.locator(".notes .lines li")).to_have_text("Ada20.00")
    assert axe(page) == []
    assert [shop.balance(each) for each in payees] == [SURPLUS, 0]


def test_twenty_cautions_at_a_time_on_a_phone(shop, node):
    owe(shop, 21)
    page = shop.console(shop.wallet(), **PHONE)
    changed(page, lambda at, order: {"cautions": ["nobody_told"]})
    page.goto(PAY_BACK)
    press(page)
    section = page.get_by_role("region", name="Check these before you pay")
    expect(section.get_by_role("checkbox")).to_have_count(20)
    expect(section).to_contain_text("These are 20 of 21. The others come afterwards.")
    assert axe(page) == []
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 390


def test_a_list_that_changed_after_the_look_is_not_signed(shop, node):
    owe(shop, 1)
    shop.fund(SURPLUS)
    page = shop.console(shop.wallet())
    changed(page, lambda at, order: {"to": FRIENDS[0]})
    page.goto(PAY_BACK)
    press(page)
    says(page, "The list has just changed. Please look at it again.")
    assert asked(page, SEND) == []


def test_a_hundred_refunds_are_checked_by_a_slow_node_in_seconds(shop, node):
    owe(shop, 100)
    shop.fund(100 * SURPLUS)
    data = data_of("approve(address,uint256)", receivers.FACTORY, 100 * SURPLUS)
    anvil.send(node.rpc, OWNER, {"to": anvil.TOKEN_ADDRESS, "data": data})
    page = opened(shop, script="wallet.delay = 50;")
    page.evaluate("wallet.hangs.push('eth_sendTransaction')")
    began = time.monotonic()
    press(page)
    says(page, re.compile(r"Checking \d+ of 100 payments…"))
    until_asked(page, SEND)
    seconds = time.monotonic() - began
    assert seconds < 15
    assert len(asked(page, "eth_getTransactionReceipt")) == 100
    expect(page.locator(".look")).to_have_count(0)
    assert len(asked(page, SEND)) == 1


def test_without_a_script_a_person_ticks_what_one_node_has_seen(shop, node):
    _, payees = owe(shop, 2, names=["Jonas Weber"])
    shop.fund(2 * SURPLUS, OTHER)
    page = shop.console(java_script_enabled=False, **DESKTOP)
    page.goto(PAY_BACK)
    expect(page.get_by_text("A second RPC URL protects your refunds.")).to_be_visible()
    page.get_by_label("Account that will sign").fill(account(node, OTHER))
    page.get_by_role("button", name="Show the list").click()
    listed = page.get_by_role("region", name="What the account signs on Local")
    expect(listed).to_contain_text("Nothing can be paid by this account now.")
    named = "2 orders wait: only one node has seen their payments."
    listed.get_by_text(named).click()
    for text in ("Jonas Weber", *payees, "Payment of"):
        expect(listed).to_contain_text(text)
    listed.get_by_label("Only one node has seen the payments of 2 orders.").check()
    listed.get_by_role("button", name="Add them to the list").click()
    with page.expect_download() as started:
        page.get_by_role("button", name="Save the file for a Safe").click()
    file = json.loads(started.value.path().read_text())
    assert file["chainId"] == str(CHAIN)
    for each in file["transactions"]:
        anvil.send(node.rpc, OTHER, {"to": each["to"], "data": each["data"]})
    assert [shop.balance(each) for each in payees] == [SURPLUS] * 2
