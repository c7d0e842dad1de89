"""Nobody is paid twice by lists: not before a payment is booked, nor after a restored backup."""

import pytest

from tests.support.factories import CHAIN, cli, new_organizer, worker_once
from tests.support.payouts import (
    OTHER,
    OWNER,
    PAYER,
    fund,
    listed,
    owed,
    sign,
    with_address,
)
from tests.support.refunds import account, give_back, settled
from tests.support.relayer import held
from ticketing.chain import receivers, refunded_events
from ticketing.chain.answers import TRANSFER_TOPIC
from ticketing.chain.refunded_events import ListedPayment
from ticketing.config import load
from ticketing.models.admissions import Admission
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.payouts import PayoutEvent
from ticketing.services.payments import payout_events, refund_settlement
from ticketing.worker.watcher import Watcher
from tools import anvil

SILENT = "0x00"
MALFORMED = f"0x600260017f{TRANSFER_TOPIC[2:]}60006000a300"
"""The code of tokens that write nothing, or a Transfer without an amount."""

pytestmark = [pytest.mark.usefixtures("node"), pytest.mark.exhaustive]


@pytest.fixture
def venue(app, node):
    """An organizer whose wallet is an ordinary address."""
    venue = with_address(app, node)
    for index in (OWNER, PAYER, OTHER):
        fund(node, 50_000_000, index)
    return venue


def due(buyers):
    return [each.now()["refund_due"] for each in buyers]


def reasons(of_list):
    return [(each["reason"], each["tx_hash"]) for each in of_list["blocked"]]


def void(venue, buyer):
    """Void the only ticket of an order, so that its price is owed."""
    (admission,) = Admission.select().where(Admission.intent == buyer.intent["id"])
    path = f"{venue.path}/admissions/{admission.id}/void"
    assert venue.api().post(path, {"reason": "ill", "refund": True}).status_code == 200


def test_a_payment_that_is_seen_and_not_booked_yet_is_on_no_list(app, node, venue, monkeypatch):
    """The worker books some payments in one pass, and the others in the next one."""
    monkeypatch.setattr(payout_events, "BOOKED_PER_PASS", 1)
    buyers = owed(venue, node, 7, 9)
    paid = sign(node, listed(venue, node))[-1]
    worker_once(app)
    assert sum(due(buyers)) in (7, 9)
    for payer in (PAYER, OTHER):
        again = listed(venue, node, payer)
        assert (again["payments"], again["transactions"]) == ([], [])
        assert reasons(again) == [("already_paid", paid)]
    worker_once(app)
    assert due(buyers) == [0, 0]
    assert listed(venue, node)["unbooked"] == []


def test_an_order_that_cannot_be_settled_is_on_no_list(app, node, venue, monkeypatch):
    (buyer,) = owed(venue, node, 7)
    sign(node, listed(venue, node))

    def fail(*_, **__):
        raise ArithmeticError

    with monkeypatch.context() as broken:
        broken.setattr(refund_settlement, "count", fail)
        for _ in range(2):
            worker_once(app)
            assert listed(venue, node)["payments"] == []
    assert due([buyer]) == [7]
    PaymentIntent.update(set_aside_until=None).execute()
    PayoutEvent.update(tried_at=None).execute()
    worker_once(app)
    assert due([buyer]) == [0]


def test_a_refund_that_a_reorganization_took_back_is_on_no_list(app, node, venue, environ):
    """Its transaction may come back. The worker has not read the events of lists again yet."""
    (buyer,) = owed(venue, node, 7)
    paid = sign(node, listed(venue, node))[-1]
    raw = node.rpc("eth_getRawTransactionByHash", paid)
    worker_once(app)
    before = held(node, anvil.BUYER)
    node.rpc("anvil_reorg", 1, [])
    node.rpc("anvil_mine", "0x1")
    watcher = Watcher(load(environ).chains[CHAIN])
    watcher.look()
    watcher.leave()
    assert (due([buyer]), before - held(node, anvil.BUYER)) == ([7], 7)
    for payer in (PAYER, OTHER):
        assert listed(venue, node, payer)["payments"] == []
    node.rpc("eth_sendRawTransaction", raw)
    node.rpc("anvil_mine", "0x1")
    worker_once(app)
    assert (due([buyer]), held(node, anvil.BUYER)) == ([0], before)


def test_a_missed_payment_that_was_settled_by_hand_blocks_no_later_one(bad_node, app, node, venue):
    (buyer,) = owed(venue, node, 7)
    paid = sign(node, listed(venue, node))[-1]
    bad_node.rules.append(
        lambda question, answer: (
            {**answer, "result": []} if question["method"] == "eth_getLogs" else answer
        )
    )
    worker_once(app)
    node.rpc("anvil_mine", "0x40")
    worker_once(app)
    bad_node.rules.clear()
    node.rpc("anvil_mine", "0x40")
    worker_once(app)
    assert (due([buyer]), reasons(listed(venue, node))[0][0]) == ([7], "already_paid")
    assert settled(venue, buyer, paid) == 7
    buyer.pay(node, 3)
    worker_once(app)
    (payment,) = listed(venue, node)["payments"]
    assert payment["amount"] == 3
    assert listed(venue, node)["unbooked"] == []


def test_a_surplus_counts_as_soon_as_more_is_due(app, node, venue):
    """Six of the ten on the list were paid by hand before it was signed."""
    (buyer,) = owed(venue, node, 10)
    of_list = listed(venue, node)
    assert settled(venue, buyer, give_back(node, 6)) == 6
    sign(node, of_list)
    worker_once(app)
    (kept,) = listed(venue, node)["unbooked"]
    assert (kept["reason"], due([buyer])) == ("surplus", [0])
    void(venue, buyer)
    assert listed(venue, node)["payments"] == []
    PayoutEvent.update(tried_at=None).execute()
    worker_once(app)
    assert due([buyer]) == [buyer.intent["amount"] - 6]
    (payment,) = listed(venue, node)["payments"]
    assert payment["amount"] == buyer.intent["amount"] - 6
    assert listed(venue, node)["unbooked"] == []
    assert "right" in cli(app, "reconcile")


@pytest.mark.parametrize("code", [SILENT, MALFORMED])
def test_a_payer_with_a_token_of_his_own_stops_nobody(app, node, venue, code):
    evil = new_organizer(app, "evil", address=account(node, OWNER))
    (theirs,), (mine,) = owed(evil, node, 7), owed(venue, node, 9)
    (payment,) = listed(evil, node, OTHER)["payments"]
    token = "0x00000000000000000000000000000000deadbe01"
    node.rpc("anvil_setCode", token, code)
    data = refunded_events.refund_data(
        token, 2**40, [ListedPayment(payment["id"], payment["to"], 7)]
    )
    good = listed(venue, node)
    (deploy,) = [each for each in good["transactions"] if each["purpose"] == "deploy"]
    anvil.send(node.rpc, PAYER, {"to": deploy["to"], "data": deploy["data"]})
    anvil.send(node.rpc, OTHER, {"to": receivers.FACTORY, "data": data})
    sign(node, listed(venue, node))
    worker_once(app)
    assert (due([theirs]), due([mine])) == ([7], [0])
    # Its event paid nothing, and nobody else is the worse for it.
    assert listed(evil, node, OTHER)["unbooked"] == []
    assert PayoutEvent.select().where(PayoutEvent.tenant_id == evil.id).count() == 0
