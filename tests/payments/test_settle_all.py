"""One transaction, named once, settles the refunds of all orders that it paid."""

import pytest

from tests.support.factories import CHAIN, worker_once
from tests.support.payouts import fund, listed, owed, settle_all, sign, with_address
from tests.support.refunds import FRIEND_ADDRESS, give_back, overpay, state
from ticketing.chain import refunded_events
from ticketing.chain.refunded_events import ListedPayment
from ticketing.models.refunds import Refund
from ticketing.services.payments import refund_settlement

pytestmark = [pytest.mark.sql, pytest.mark.usefixtures("node")]


def amounts(answer):
    assert answer.status_code == 200, answer.json
    return {each["intent_id"]: each["amount"] for each in answer.json["settled"]}


def test_the_order_that_is_due_the_amount_comes_first_then_the_oldest(acme, node):
    old, exact, new = overpay(acme, node, 4), overpay(acme, node, 7), overpay(acme, node, 8)
    answer = settle_all(acme, give_back(node, 7))
    assert amounts(answer) == {exact.intent["id"]: 7}
    assert answer.json["left"] == 0
    tx_hash = give_back(node, 9)
    of_both = {old.intent["id"]: 4, new.intent["id"]: 5}
    assert amounts(settle_all(acme, tx_hash)) == of_both
    assert amounts(settle_all(acme, tx_hash)) == of_both
    assert [each.now()["refund_due"] for each in (old, exact, new)] == [0, 0, 3]


def test_only_orders_whose_payee_got_it_are_tried(acme, neighbour, node):
    mine, other, theirs = overpay(acme, node), overpay(acme, node), overpay(neighbour, node)
    state(mine, FRIEND_ADDRESS)
    answer = settle_all(acme, give_back(node, 7, to=FRIEND_ADDRESS))
    assert amounts(answer) == {mine.intent["id"]: 7}
    assert [each.now()["refund_due"] for each in (other, theirs)] == [7, 7]


def test_it_tries_so_many_orders_at_once(acme, node, monkeypatch):
    monkeypatch.setattr(refund_settlement, "ORDERS_AT_ONCE", 2)
    for _ in range(3):
        overpay(acme, node)
    tx_hash = give_back(node, 21)
    first = settle_all(acme, tx_hash)
    assert (len(amounts(first)), first.json["left"]) == (2, 1)
    second = settle_all(acme, tx_hash)
    assert (len(amounts(second)), second.json["left"]) == (3, 0)


def test_a_transfer_of_a_list_is_left_to_its_order(app, node):
    venue = with_address(app, node)
    first, second = owed(venue, node, 7, 7)
    fund(node, 50)
    of_list = listed(venue, node)
    of_list["transactions"][-1]["data"] = without_second(of_list)
    tx_hash = sign(node, of_list)[-1]
    # Both are due 7 to this address, and the list's transfer is of the first one.
    assert amounts(settle_all(venue, tx_hash)) == {first.intent["id"]: 7}
    worker_once(app)
    assert [each.now()["refund_due"] for each in (first, second)] == [0, 7]
    assert Refund.select().count() == 1


def without_second(of_list):
    """The call data of a list that pays its first order only."""
    one = of_list["payments"][0]
    payment = ListedPayment(one["id"], one["to"], one["amount"])
    return refunded_events.refund_data(of_list["token_address"], 2**40, [payment])


def test_a_transaction_that_paid_nobody_settles_nothing(acme, node):
    overpay(acme, node)
    assert settle_all(acme, "0x" + "ab" * 32).json == {"settled": [], "left": 0}
    assert settle_all(acme, give_back(node, 7, to=FRIEND_ADDRESS)).json["settled"] == []


def test_only_an_admin_settles(acme):
    assert settle_all(acme, "0x" + "ab" * 32, role="write").status_code == 403
    body = {"tx_hash": "0x" + "ab" * 32, "chain_id": CHAIN}
    api = acme.api()
    answers = [
        api.post(f"{acme.path}/refunds/settle", body, headers={"Idempotency-Key": "k"})
        for _ in range(2)
    ]
    assert answers[0].json == answers[1].json == {"settled": [], "left": 0}
