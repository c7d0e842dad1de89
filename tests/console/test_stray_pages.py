"""What the console shows of money on other networks than an order's, and how it is paid back."""

import re

import pytest

from tests.support.books import out_of_reach
from tests.support.databases import only_once
from tests.support.factories import CHAIN, PRICE, worker_once
from tests.support.order_pages import text_of
from tests.support.refunds import FRIEND, FRIEND_ADDRESS, STRANGER_ADDRESS, pay_from
from ticketing.models.payment_intents import PaymentIntent
from tools import anvil
from tools.anvil import SECOND_CHAIN_ID as SECOND

pytestmark = only_once

REFUNDS = "/console/refunds"
MONEY = "/console/money"
BUYER = {"name": "Ada Lovelace", "email": "ada@example.org"}


@pytest.fixture
def order(node, second_node, acme):
    """A function that makes an order sold on these networks, which receives 5 USDC on Local 2."""

    def order(*chain_ids, amount=PRICE):
        worker_once(acme.app)
        buyer = acme.buyer(acme.ticket(chain_ids=chain_ids), buyer=BUYER)
        pay_from(second_node, FRIEND, buyer, amount)
        worker_once(acme.app)
        return buyer

    return order


def refund_link(page):
    """The link of the page of a stray account's refund."""
    (found, *_) = re.findall(rf'href="({REFUNDS}/[^"?]+\?chain_id={SECOND}[^"]*)"', page)
    return found.replace("&amp;", "&")


def hidden(page):
    """The hidden fields of each form of a page that name the account."""
    names = ("chain_id", "token_address")
    return [
        {name: re.findall(rf'name="{name}" value="([^"]+)"', form) for name in names}
        for form in page.split("<form")[1:]
        if 'name="tx_hash"' in form or 'name="reason"' in form or 'name="by_hand"' in form
    ]


def test_an_order_shows_each_account(order, console):
    buyer = order(CHAIN, SECOND, amount=PRICE - 1)
    page = console.get(f"/console/orders/{buyer.intent['id']}").text
    said = text_of(page)
    assert "Also received: USDC on Local 2 Received 4.999999 USDC" in said
    assert "May still pay for the order 4.999999 USDC Do not send it back yet." in said
    assert f"Paid from {FRIEND_ADDRESS}" in said and "To refund" not in said
    assert "Other money seen: on another network" in said
    assert "4.999999 USDC on Local 2" in said  # in the list of payments
    buyer.api.post(f"{buyer.path}/chain", {"chain_id": SECOND})
    said = text_of(console.get(f"/console/orders/{buyer.intent['id']}").text)
    assert "Order moved to another network" in said and "Also received:" not in said


def test_what_is_out_of_reach_is_said_and_not_owed(order, console):
    buyer = order(CHAIN)
    out_of_reach()
    said = text_of(console.get(f"/console/orders/{buyer.intent['id']}").text)
    assert "Not reachable 5.00 USDC Your wallet is not on this network" in said
    said = text_of(console.get(MONEY).text)
    assert "5.00 USDC arrived on Local 2 , which is not a network of your wallet." in said
    assert "You owe nobody anything" in said


def test_a_refund_on_another_network_is_listed_and_settled_there(order, console, second_node):
    buyer = order(CHAIN)
    page = console.get(REFUNDS).text
    assert "5.00 USDC on Local 2" in text_of(page)
    assert refund_link(page) == refund_link(console.get(MONEY).text)
    assert "Sent on another network, on Local 2" in text_of(console.get(MONEY).text)
    path = refund_link(page)
    assert path == refund_link(console.get(f"/console/orders/{buyer.intent['id']}").text)
    page = console.get(path).text
    said = text_of(page)
    assert "Due now 5.00 USDC" in said and "Network Local 2" in said and FRIEND_ADDRESS in said
    (stray,) = PaymentIntent.get().stray_accounts
    fields = {"chain_id": str(SECOND), "token_address": stray.token_address}
    assert all(each == {n: [v] for n, v in fields.items()} for each in hidden(page))
    bare = path.partition("?")[0]
    refused = console.send(f"{bare}/settle", {"tx_hash": "0x12", **fields})
    assert refused.status_code == 422 and "Network Local 2" in text_of(refused.text)
    anvil.mint(second_node.rpc, anvil.TOKEN_ADDRESS, anvil.BUYER, PRICE)
    sent = anvil.transfer(second_node.rpc, anvil.TOKEN_ADDRESS, STRANGER_ADDRESS, PRICE)
    sent = {"tx_hash": sent["transactionHash"], "recipient": STRANGER_ADDRESS, **fields}
    answer = console.send(f"{bare}/settle", sent)
    assert (answer.status_code, answer.headers["Location"]) == (303, f"{path}#settled")
    page = console.get(path).text
    assert sent["tx_hash"] in page and "I have sent it" not in page
    assert refund_link(console.get(f"{REFUNDS}?status=settled").text) == path


def test_a_refund_on_another_network_is_waived_there(order, console):
    order(CHAIN)
    path = refund_link(console.get(REFUNDS).text)
    (stray,) = PaymentIntent.get().stray_accounts
    fields = {"chain_id": str(SECOND), "token_address": stray.token_address}
    waiver = {"amount": str(PRICE), "reason": "The fee is higher.", **fields}
    answer = console.send(f"{path.partition('?')[0]}/waive", waiver)
    assert (answer.status_code, answer.headers["Location"]) == (303, f"{path}#waived")
    assert "Not counted 5.00 USDC" in text_of(console.get(path).text)
    assert "5.00 USDC on Local 2" in text_of(console.get(f"{REFUNDS}?status=waived").text)


@pytest.mark.parametrize(
    "named", ["chain_id=1", "chain_id=x", f"chain_id={SECOND}&token_address=0"]
)
def test_an_account_that_an_order_does_not_have_is_not_found(order, console, named):
    buyer = order(CHAIN)
    assert console.get(f"{REFUNDS}/{buyer.intent['id']}?{named}").status_code == 404
