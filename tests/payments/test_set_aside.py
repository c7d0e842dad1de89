"""An order that cannot be settled is set aside and tried again. It stops no other."""

from datetime import timedelta

import pytest

from tests.support.factories import worker_once
from ticketing import clock
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services import counters
from ticketing.services.payments import settlement

pytestmark = pytest.mark.sql


@pytest.fixture
def one_at_a_time(monkeypatch):
    """One order in a transaction: the first that fails would be selected for ever."""
    monkeypatch.setattr("ticketing.services.payments.settlement.INTENTS_PER_TRANSACTION", 1)


@pytest.fixture
def broken_ids(monkeypatch):
    """The ids of orders that cannot be settled. Their changes are written before the failure."""
    ids = set()
    enter = settlement.enter

    def fail_for_some(intent, *arguments, **columns):
        enter(intent, *arguments, **columns)
        if intent.id in ids:
            raise LookupError("made to fail")

    monkeypatch.setattr(settlement, "enter", fail_for_some)
    return ids


def try_again(buyer):
    """Let the time of the next try come."""
    of_buyer = PaymentIntent.id == buyer.intent["id"]
    PaymentIntent.update(set_aside_until=clock.now()).where(of_buyer).execute()


def status(buyer):
    return PaymentIntent.get_by_id(buyer.intent["id"]).status


def next_try(buyer):
    return PaymentIntent.get_by_id(buyer.intent["id"]).set_aside_until


def test_a_paid_one_stops_no_other_and_is_tried_again(
    acme, node, one_at_a_time, broken_ids, caplog
):
    ticket = acme.ticket(capacity=None)
    broken, other = acme.buyer(ticket), acme.buyer(ticket)
    worker_once(acme.app)
    broken_ids.add(broken.intent["id"])
    broken.pay(node)
    other.pay(node)
    worker_once(acme.app)
    assert (status(broken), status(other)) == ("awaiting_payment", "confirmed")
    assert f"order {broken.intent['id']} cannot be settled: LookupError" in caplog.text
    failures = counters.read()[counters.SET_ASIDE]["31337"]
    assert failures >= 1
    assert next_try(broken) > clock.now() + timedelta(minutes=9)
    worker_once(acme.app)  # its payment is not new, and its time has not come
    broken_ids.clear()
    worker_once(acme.app)
    assert status(broken) == "awaiting_payment"
    try_again(broken)
    worker_once(acme.app)
    assert (status(broken), next_try(broken)) == ("confirmed", None)
    assert broken.now()["amount_received"] == broken.intent["amount"]


def test_an_expired_one_stops_no_other(acme, node, one_at_a_time, broken_ids):
    ticket = acme.ticket(capacity=None)
    broken, other = [acme.buyer(ticket) for _ in range(2)], acme.buyer(ticket)
    worker_once(acme.app)
    broken_ids.update(each.intent["id"] for each in broken)
    node.rpc("evm_increaseTime", 3000)
    node.rpc("anvil_mine", "0x1")
    for _ in range(3):
        worker_once(acme.app)
    assert [*map(status, broken), status(other)] == ["awaiting_payment"] * 2 + ["expired"]
    broken_ids.clear()
    for each in broken:
        try_again(each)
    for _ in range(3):
        worker_once(acme.app)
    assert {*map(status, broken)} == {"expired"}


def test_a_free_one_stops_no_other(acme, node, one_at_a_time, broken_ids):
    ticket = acme.ticket(price_amount=0, capacity=None)
    broken, other = acme.buyer(ticket), acme.buyer(ticket)
    PaymentIntent.update(expires_at=clock.now() - timedelta(seconds=1)).execute()
    broken_ids.add(broken.intent["id"])
    for _ in range(3):
        worker_once(acme.app)
    assert (status(broken), status(other)) == ("awaiting_payment", "expired")
    assert acme.stock(ticket) == (1, 0)
    broken_ids.clear()
    try_again(broken)
    worker_once(acme.app)
    assert (status(broken), next_try(broken)) == ("expired", None)
