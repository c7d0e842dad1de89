"""Refunds become final by the depth of their own payments, however many others are pending."""

import pytest

from tests.support.books import home_of
from tests.support.factories import PRICE, worker_once

pytestmark = [pytest.mark.sql, pytest.mark.long]


@pytest.fixture
def one_at_a_time(monkeypatch):
    """One order in a transaction, as if a hundred times as many orders were dusted."""
    monkeypatch.setattr("ticketing.services.payments.settlement.INTENTS_PER_TRANSACTION", 1)


def owed(buyer):
    home = home_of(buyer.intent["id"])
    return home.due, home.pending


def dust(node, buyers):
    for buyer in buyers:
        buyer.pay(node, 1)


def test_dusted_orders_keep_no_other_refund_pending(three_deep, acme, node, one_at_a_time):
    ticket = acme.ticket(capacity=None)
    attackers = [acme.buyer(ticket) for _ in range(2)]
    worker_once(acme.app)
    node.rpc("evm_increaseTime", 3000)
    node.rpc("anvil_mine", "0x1")
    for _ in attackers:
        worker_once(acme.app)
    assert {each.now()["status"] for each in attackers} == {"expired"}
    victim = acme.buyer(ticket)
    victim.pay(node)
    node.rpc("anvil_mine", "0x2")
    worker_once(acme.app)
    victim.pay(node)
    worker_once(acme.app)
    assert owed(victim) == (PRICE, PRICE)
    for _ in range(3):
        dust(node, attackers)
        worker_once(acme.app)
        # All of them have a payment that is not final.
        assert all(owed(each)[1] for each in attackers)
    assert victim.now()["status"] == "confirmed"
    assert owed(victim) == (PRICE, 0)
