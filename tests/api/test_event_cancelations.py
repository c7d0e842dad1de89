"""An event is canceled: all admissions become void, and their prices are owed."""

import pytest

from tests.support.admissions import FREE, admissions_of, given, invite, redeem, sold, void
from tests.support.counted_work import watched
from tests.support.factories import PRICE, worker_once
from ticketing.models.admissions import Admission
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services.payments import reconciliation

pytestmark = pytest.mark.sql


def cancel(acme, event_id, **fields):
    api = acme.with_headers({"X-API-Key": acme.admin_key})
    return api.post(f"{acme.path}/events/{event_id}/status", {"status": "canceled", **fields})


def statuses():
    return {each.status for each in Admission.select()}


def owed(*buyers):
    return [buyer.now()["refund_due"] for buyer in buyers]


@pytest.fixture
def event(acme):
    return acme.event()


@pytest.fixture
def buyers(acme, node, event):
    """Paid twice, paid, free and live orders of one event, with one of each kind of admission."""
    ticket, free = acme.ticket(event), acme.ticket(event, **FREE)
    paid, surplus = (sold(acme, node, ticket, quantity=2) for _ in range(2))
    surplus.pay(node, 7)
    worker_once(acme.app)
    assert redeem(admissions_of(paid)[0])
    given(acme, free)
    invite(acme, free, {"name": "Ada"})
    live = acme.buyer(ticket)
    live.pay(node, 3)
    worker_once(acme.app)
    return [paid, surplus, live]


def test_everything_is_void_and_owed(acme, event, buyers):
    assert cancel(acme, event["id"]).status_code == 200
    assert statuses() == {"void"}
    assert {each.void_reason for each in Admission.select()} == {"event_canceled"}
    assert owed(*buyers) == [2 * PRICE, 2 * PRICE + 7, 3]
    assert [buyer.now()["status"] for buyer in buyers] == ["confirmed", "confirmed", "canceled"]
    for ticket in acme.api().get(f"{acme.path}/events/{event['id']}/tickets").json["data"]:
        assert (ticket["held"], ticket["sold"]) == (0, 0)
    inside = admissions_of(buyers[0])[0]
    assert (inside.status, inside.redeemed_at is not None) == ("void", True)
    assert reconciliation.reconcile(None) == []


def test_refunds_may_be_left_out_and_made_up_for(acme, event, buyers):
    assert cancel(acme, event["id"], refund=False).status_code == 200
    assert statuses() == {"void"}
    assert owed(*buyers) == [0, 7, 3]
    assert reconciliation.reconcile(None) == []
    cancel(acme, event["id"], refund=False)
    assert owed(*buyers) == [0, 7, 3]
    for _ in range(2):
        assert cancel(acme, event["id"], refund=True).status_code == 200
        assert owed(*buyers) == [2 * PRICE, 2 * PRICE + 7, 3]
    cancel(acme, event["id"], refund=False)
    assert owed(*buyers) == [2 * PRICE, 2 * PRICE + 7, 3]
    assert reconciliation.reconcile(None) == []


def test_what_was_void_before_stays_as_it_was_decided(acme, event, buyers):
    first, second = admissions_of(buyers[1])
    assert void(acme, first, refund=False).status_code == 200
    assert void(acme, second, refund=True).status_code == 200
    assert cancel(acme, event["id"]).status_code == 200
    assert owed(buyers[1]) == [PRICE + 7]
    assert Admission.get_by_id(first.id).void_reason == "Asked for."
    assert reconciliation.reconcile(None) == []


def test_a_payment_that_is_not_final_is_pending_until_it_is(three_deep, acme, node):
    ticket = acme.ticket()
    buyer, other = acme.buyer(ticket), acme.buyer(ticket)
    worker_once(acme.app)
    for each in (buyer, other):
        each.pay(node)
    node.rpc("anvil_mine", "0x5")
    worker_once(acme.app)
    buyer.pay(node, 7)
    worker_once(acme.app)
    assert cancel(acme, ticket["event_id"]).status_code == 200
    pending = [(each.now()["refund_due"], each.now()["refund_pending"]) for each in (buyer, other)]
    assert pending == [(PRICE + 7, 7), (PRICE, 0)]
    worker_once(acme.app)
    assert buyer.now()["refund_pending"] == 7
    node.rpc("anvil_mine", "0x5")
    worker_once(acme.app)
    assert (buyer.now()["refund_due"], buyer.now()["refund_pending"]) == (PRICE + 7, 0)


def test_a_payment_that_returns_is_owed(acme, node, event):
    ticket = acme.ticket(event)
    worker_once(acme.app)
    buyer = acme.buyer(ticket)
    snapshot = node.rpc("evm_snapshot")
    buyer.pay(node)
    worker_once(acme.app)
    node.rpc("evm_revert", snapshot)
    node.rpc("anvil_mine", "0x5")
    worker_once(acme.app)
    assert statuses() == {"suspended"}
    assert cancel(acme, event["id"]).status_code == 200
    assert (statuses(), owed(buyer)) == ({"void"}, [0])
    assert reconciliation.reconcile(None) == []
    buyer.pay(node)
    worker_once(acme.app)
    assert (statuses(), owed(buyer)) == ({"void"}, [PRICE])
    assert reconciliation.reconcile(None) == []


@pytest.mark.parametrize("status", ["draft", "published"])
@pytest.mark.parametrize("refund", [True, False])
def test_a_refund_belongs_to_a_cancelation(acme, event, status, refund):
    path = f"{acme.path}/events/{event['id']}/status"
    refused = acme.api().post(path, {"status": status, "refund": refund})
    assert (refused.status_code, list(refused.json["errors"])) == (422, ["refund"])


def test_each_call_is_in_the_audit_log(acme, event, buyers):
    cancel(acme, event["id"], refund=False)
    cancel(acme, event["id"])
    query = {"subject": event["id"]}
    second, first, _ = acme.api().get(f"{acme.path}/audit-log", query_string=query).json["data"]
    assert (first["before"], first["after"]) == (
        {"status": "published"},
        {"status": "canceled", "refund": False},
    )
    assert (second["before"], second["after"]) == ({}, {"refund": True})


@pytest.mark.exhaustive
def test_many_orders_need_no_more_statements_than_one(acme):
    def statements(orders):
        ticket = acme.ticket(**FREE, capacity=None)
        for _ in range(orders):
            given(acme, ticket, quantity=2)
        with watched() as work:
            assert cancel(acme, ticket["event_id"]).status_code == 200
        return len(work.statements)

    assert statements(1) == statements(20)
    assert PaymentIntent.select().count() == 21
    assert (statuses(), reconciliation.reconcile(None)) == ({"void"}, [])


def test_no_void_may_look_like_that_of_a_canceled_event(acme, buyers):
    """Otherwise a later cancelation with refunds would owe what was decided not to be owed."""
    body = {"reason": "event_canceled", "refund": False}
    path = f"{acme.path}/admissions/{admissions_of(buyers[0])[0].id}/void"
    answer = acme.api().post(path, body)
    assert (answer.status_code, list(answer.json["errors"])) == (422, ["reason"])
