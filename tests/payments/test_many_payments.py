"""Anyone can send an order thousands of tiny payments: what they cost the service is bounded."""

import pytest

from tests.support.books import change_home
from tests.support.console import sign_in
from tests.support.counted_work import watched
from tests.support.factories import PRICE, worker_once
from tests.support.order_pages import read
from tests.support.refunds import dust, received
from ticketing import clock
from ticketing.constants import MAX_PAYERS_SHOWN, MAX_PAYMENTS_SHOWN
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.payments import Payment
from tools import anvil

pytestmark = pytest.mark.sql

MANY = 60


@pytest.fixture
def dusted(acme):
    """An order that a stranger sent many tiny payments, and its buyer the price and some more."""
    buyer = acme.buyer(acme.ticket())
    dust(buyer, MANY)
    received(buyer, PRICE + 7)
    change_home(buyer.intent["id"], due=MANY + 7, pending=0)
    return buyer


def shown(acme, buyer):
    answer = acme.api("read").get(f"{acme.path}/intents/{buyer.intent['id']}")
    assert answer.status_code == 200
    return answer.json


def pages(acme, buyer, limit):
    """All pages of the list of an order's payments."""
    path, query = f"{acme.path}/intents/{buyer.intent['id']}/payments", {"limit": limit}
    while True:
        page = acme.api("read").get(path, query_string=query).json
        yield page["data"]
        if page["next_cursor"] is None:
            return
        query["cursor"] = page["next_cursor"]


def places(payments):
    return [(each["block_number"], each["log_index"], each["id"]) for each in payments]


def test_an_order_shows_the_largest_payments_in_the_order_of_the_chain(acme, dusted):
    order = shown(acme, dusted)
    assert (len(order["payments"]), order["payment_count"]) == (MAX_PAYMENTS_SHOWN, MANY + 1)
    blocks = [each["block_number"] for each in order["payments"]]
    assert blocks == sorted(blocks)
    assert PRICE + 7 in [each["amount"] for each in order["payments"]]


@pytest.mark.parametrize("count", [0, 1, MAX_PAYMENTS_SHOWN, MAX_PAYMENTS_SHOWN + 1])
def test_an_order_with_few_payments_shows_them_all(acme, count):
    buyer = acme.buyer(acme.ticket())
    dust(buyer, count)
    order = shown(acme, buyer)
    listed = [each for page in pages(acme, buyer, 100) for each in page]
    assert order["payment_count"] == len(listed) == count
    if count <= MAX_PAYMENTS_SHOWN:
        assert order["payments"] == listed


def test_payments_that_left_the_chain_are_shown_last(acme, dusted):
    Payment.update(canonical=False).where(Payment.amount == 1, Payment.block_number > 3).execute()
    assert sum(each["canonical"] for each in shown(acme, dusted)["payments"]) == 4


def test_the_list_has_every_payment_once_in_the_order_of_the_chain(acme, dusted):
    # Two blocks of the same number, of two branches of the chain.
    received(dusted, 1, canonical=False)
    whole = [each for page in pages(acme, dusted, 100) for each in page]
    assert places(whole) == sorted(places(whole)) and len(whole) == MANY + 2
    for limit in (1, 7):
        parts = list(pages(acme, dusted, limit))
        assert [each for page in parts for each in page] == whole
        assert {len(page) for page in parts[:-1]} == {limit}


def test_the_list_is_of_one_order_of_the_tenant(acme, dusted, neighbour):
    other = acme.buyer(acme.ticket())
    path = f"{acme.path}/intents/{{}}/payments".format
    api = acme.api("read")
    cursor = api.get(path(dusted.intent["id"]), query_string={"limit": 1}).json["next_cursor"]
    refused = api.get(path(other.intent["id"]), query_string={"cursor": cursor})
    assert refused.status_code == 422
    assert api.get(path("pi_none")).status_code == 404
    foreign = f"{neighbour.path}/intents/{dusted.intent['id']}/payments"
    assert neighbour.api("read").get(foreign).status_code == 404


def test_a_refund_names_those_who_paid_the_most(acme, dusted):
    dust(dusted, 1, amount=3, sender="0x" + "11" * 20)
    answer = acme.api("read").get(f"{acme.path}/refunds").json["data"][0]
    payers = answer["payers"]
    assert (len(payers), answer["payer_count"]) == (MAX_PAYERS_SHOWN, MANY + 2)
    # In the order in which they were first seen: these two were the last.
    assert payers[-2:] == [
        {"sender": anvil.BUYER, "amount": PRICE + 7},
        {"sender": "0x" + "11" * 20, "amount": 3},
    ]


def test_pages_show_the_largest_and_say_that_there_are_more(acme, dusted):
    found = {"status": "confirmed", "confirmed_at": clock.now(), "paid_block": 1}
    PaymentIntent.update(found).where(PaymentIntent.id == dusted.intent["id"]).execute()
    change_home(dusted.intent["id"], due=7)
    real = Payment.get(Payment.amount > 1).tx_hash
    page = read(dusted)
    assert page.count("0x") <= MAX_PAYMENTS_SHOWN + 5 and real in page
    assert "There are more payments. These are the largest." in page
    console = sign_in(acme)
    order = console.get(f"/console/orders/{dusted.intent['id']}").text
    assert real in order and f"These are the largest of {MANY + 1} payments." in order
    refund = console.get(f"/console/refunds/{dusted.intent['id']}").text
    assert anvil.BUYER in refund and f"of {MANY + 1} addresses" in refund


FEW = MAX_PAYMENTS_SHOWN
"""Answers show no more than these."""


def work_for(acme, node, count, ends):
    """Send an order `count` tiny payments and the price. Return the work of all that reads them."""
    buyer = acme.buyer(acme.ticket())
    if ends:
        node.rpc("evm_increaseTime", 1000)
        node.rpc("anvil_mine", "0x1")
    worker_once(acme.app)
    assert buyer.now()["status"] == ("expired" if ends else "awaiting_payment")
    head = node.rpc("eth_getBlockByNumber", "latest", False)
    dust(buyer, count, block_number=int(head["number"], 16), block_hash=head["hash"])
    buyer.pay(node)
    path = f"{acme.path}/intents/{buyer.intent['id']}"
    acts = {
        "look": lambda: worker_once(acme.app),
        "purchase": lambda: buyer.purchase().status_code,
        "second look": lambda: worker_once(acme.app),
        "answer": lambda: acme.api("read").get(path).status_code,
        "refunds": lambda: acme.api("read").get(f"{acme.path}/refunds?limit=1").status_code,
        "page": lambda: bool(read(buyer)),
    }
    found = {}
    for name, act in acts.items():
        with watched() as work:
            act()
        found[name] = (len(work.statements), work.rows)
    assert buyer.now()["amount_received"] == PRICE + count
    return found


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.long
def test_more_payments_cost_no_more_rows_and_statements(acme, node, ends):
    """Not for an open order, and not for one that ended: there each transfer is decided."""
    few = work_for(acme, node, FEW, ends)
    many = work_for(acme, node, 20 * FEW, ends)
    for name, (statements, rows) in many.items():
        # The second order finds the first one there: a few rows more.
        assert statements < few[name][0] + FEW, name
        assert rows < few[name][1] + FEW, name
