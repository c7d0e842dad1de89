"""Rare sequences of one order, in a small world on a chain in memory."""

import pytest

from tests.support.property.worlds import fake_chain
from tests.support.wallets import prove_receivers
from ticketing.constants import Publication
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services.catalog import events

pytestmark = pytest.mark.exhaustive

ALL, PART, MOTE = ("all", "part", "mote")


@pytest.fixture
def world(new_world):
    """A payment is final after the next block."""
    return new_world(fake_chain(6), confirmations=2, capacity=4)


def order():
    return PaymentIntent.select().order_by(PaymentIntent.id).first()


def books():
    now = order()
    return now.status, now.amount_received, now.refund_due, now.home.pending


def run(world, *happenings):
    for name, *arguments in happenings:
        world.do((name, arguments))


def pay(amount):
    return "pay", [(0, amount)], True


def give_back(who):
    return "send_refunds", [(who, "payer", "all")], True


LOOK = ("look_after_silence", 0)
EXPIRE = (("pass_time", 1000, True), LOOK)
ORDER = (LOOK, ("preflight", False, 1))


def test_an_order_canceled_with_its_event_before_the_first_look_is_owed_its_money(world):
    prove_receivers(*world.config.chains.values())
    run(world, ("preflight", False, 1), pay(PART), ("purchase", 0))
    assert books() == ("awaiting_payment", 300, 0, 0)
    intent = order()
    events.set_status(intent.tenant_id, intent.event_id, Publication.CANCELED)
    assert books() == ("canceled", 300, 300, 300)
    run(world, ("mine", 1), LOOK)
    assert books() == ("canceled", 300, 300, 0)


@pytest.mark.parametrize("headers", ["null", "error"])
def test_a_node_without_old_headers_does_not_stop_an_order_that_is_paid_again(world, headers):
    run(world, *ORDER, pay(ALL), LOOK, ("mine", 300), LOOK)
    assert order().status == "confirmed"
    run(world, ("set_node", False, [("prune", (140,), {"headers": headers})]), pay(MOTE))
    run(world, LOOK)
    assert books() == ("confirmed", 901, 1, 1)
    run(world, ("mine", 1), LOOK)
    assert books() == ("confirmed", 901, 1, 0)


def test_a_payment_whose_logs_are_left_out_for_hours_is_found_in_the_end(world):
    run(world, *ORDER, ("set_node", False, [("omit_logs", (), {})]), pay(ALL), *EXPIRE, LOOK)
    assert books() == ("expired", 0, 0, 0)
    for _ in range(5):
        run(world, ("pass_time", 3600, True), LOOK)
    run(world, ("set_node", False, []), ("pass_time", 3600, True), LOOK)
    run(world, ("pass_time", 3600, True), LOOK)
    assert books() == ("confirmed", 900, 0, 0)
