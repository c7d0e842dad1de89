"""Cancel: release the hold, if nothing was received."""

import pytest

from tests.support.factories import PRICE, worker_once

pytestmark = pytest.mark.sql


def test_it_releases_the_hold_and_says_the_same_again(acme, node):
    ticket = acme.ticket()
    buyer = acme.buyer(ticket, quantity=2)
    first, second = buyer.cancel(), buyer.cancel()
    assert first.status_code == second.status_code == 200
    assert first.json["status"] == "canceled"
    assert first.json == second.json
    assert acme.stock(ticket) == (0, 0)


def test_it_is_refused_once_anything_was_received_though_nobody_has_looked_yet(acme, node):
    ticket = acme.ticket()
    buyer = acme.buyer(ticket)
    buyer.pay(node, 1)
    answer = buyer.cancel()
    assert (answer.status_code, answer.json["code"]) == (409, "intent_not_cancelable")
    assert buyer.now()["amount_received"] == 1
    assert acme.stock(ticket) == (1, 0)


def test_a_payment_found_while_canceling_is_settled(acme, node):
    ticket = acme.ticket()
    buyer = acme.buyer(ticket)
    buyer.pay(node)
    assert buyer.cancel().status_code == 409
    assert buyer.now()["status"] == "confirmed"
    assert acme.stock(ticket) == (0, 1)


def test_an_expired_intent_cannot_be_canceled(acme, node):
    expired = acme.buyer(acme.ticket())
    node.rpc("evm_increaseTime", 1000)
    node.rpc("anvil_mine", "0x1")
    expired.purchase()
    assert expired.cancel().status_code == 409


def test_without_a_look_at_the_chain_no_hold_is_dropped(acme):
    ticket = acme.ticket()
    buyer = acme.buyer(ticket)
    assert buyer.cancel().status_code == 503
    assert acme.stock(ticket) == (1, 0)


def test_a_payment_after_canceling_is_refund_due_and_releases_nothing_twice(acme, node):
    ticket = acme.ticket()
    buyer = acme.buyer(ticket)
    worker_once(acme.app)
    buyer.cancel()
    buyer.pay(node)
    worker_once(acme.app)
    intent = buyer.now()
    assert (intent["status"], intent["refund_due"]) == ("canceled", PRICE)
    assert acme.stock(ticket) == (0, 0)
