"""The organizer takes an admission back: what becomes of it, of its seat and of its price."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.support.admissions import (
    FREE,
    admissions_of,
    change,
    given,
    redeem,
    sold,
    void,
)
from tests.support.factories import PRICE, in_days, worker_once, written
from tests.support.stopped_clock import StoppedClock
from ticketing import ids
from ticketing.models.admissions import Admission, Transfer
from ticketing.models.door import DoorDevice
from ticketing.services.payments import reconciliation

pytestmark = pytest.mark.sql

NOW = datetime.now(UTC)


@pytest.fixture
def admission(acme):
    """One of the two admissions of a free order."""
    first, _ = admissions_of(given(acme, acme.ticket(**FREE), quantity=2))
    return first


def status_of(admission):
    return Admission.get_by_id(admission.id).status


def offer(admission):
    """An open offer to transfer an admission."""
    return Transfer.create(
        id=ids.new(ids.TRANSFER),
        admission=admission,
        generation=1,
        created_at=NOW,
        expires_at=NOW + timedelta(hours=48),
    )


def device(event_id, acme, **fields):
    """A door device of an event. It is paired, and has one scan that it has not sent."""
    shown = {"unsynced": 1, "paired_at": NOW, **fields}
    return DoorDevice.create(
        id=ids.new(ids.DOOR_DEVICE),
        tenant=acme.id,
        event=event_id,
        name="Gate",
        show_names=False,
        created_at=NOW,
        pairing_expires_at=NOW,
        **{"expires_at": NOW + timedelta(days=60), **shown},
    )


def test_with_a_refund_the_price_is_owed_and_the_seat_is_on_sale_again(acme, node):
    ticket = acme.ticket(capacity=2)
    buyer = sold(acme, node, ticket, quantity=2)
    first, second = admissions_of(buyer)
    answer = void(acme, first, reason="Ill.")
    assert answer.status_code == 200
    shown = {name: answer.json[name] for name in ("status", "void_reason", "void_refund")}
    assert shown == {"status": "void", "void_reason": "Ill.", "void_refund": True}
    assert answer.json["voided_at"] is not None
    assert "code" not in answer.json
    now = buyer.now()
    assert (now["status"], now["refund_due"], now["refund_pending"]) == ("confirmed", PRICE, 0)
    assert acme.stock(ticket) == (0, 1)
    assert acme.preflight(ticket).status_code == 201
    assert status_of(second) == "valid"
    assert void(acme, second).status_code == 200
    now = buyer.now()
    assert (now["status"], now["refund_due"]) == ("confirmed", 2 * PRICE)
    assert reconciliation.reconcile(None) == []


def test_without_a_refund_nothing_is_owed(acme, node):
    ticket = acme.ticket()
    buyer = sold(acme, node, ticket)
    (admission,) = admissions_of(buyer)
    assert void(acme, admission, refund=False).json["void_refund"] is False
    assert (buyer.now()["refund_due"], acme.stock(ticket)) == (0, (0, 0))
    assert reconciliation.reconcile(None) == []


def test_a_payment_that_is_not_final_is_owed_but_pending(three_deep, acme, node):
    ticket = acme.ticket()
    buyer = sold_deep(acme, node, ticket)
    buyer.pay(node, 7)
    worker_once(acme.app)
    (admission,) = admissions_of(buyer)
    assert void(acme, admission).status_code == 200
    now = buyer.now()
    assert (now["refund_due"], now["refund_pending"]) == (PRICE + 7, 7)
    node.rpc("anvil_mine", "0x5")
    worker_once(acme.app)
    now = buyer.now()
    assert (now["refund_due"], now["refund_pending"]) == (PRICE + 7, 0)


def sold_deep(acme, node, ticket):
    """A buyer whose payment has three confirmations."""
    buyer = acme.buyer(ticket)
    worker_once(acme.app)
    buyer.pay(node)
    node.rpc("anvil_mine", "0x5")
    worker_once(acme.app)
    assert buyer.now()["status"] == "confirmed"
    return buyer


def test_a_free_order_is_owed_nothing(acme, admission):
    assert void(acme, admission).status_code == 200
    assert acme.api().get(f"{acme.path}/intents/{admission.intent_id}").json["refund_due"] == 0
    assert reconciliation.reconcile(None) == []


def test_the_same_request_again_changes_nothing_and_another_one_is_refused(acme, node):
    buyer = sold(acme, node, acme.ticket(), quantity=2)
    admission, _ = admissions_of(buyer)
    first, again = void(acme, admission), void(acme, admission)
    assert (again.status_code, again.json) == (200, first.json)
    assert buyer.now()["refund_due"] == PRICE
    for other in ({"refund": False}, {"reason": "Other."}):
        refused = void(acme, admission, **other)
        assert (refused.status_code, refused.json["code"]) == (409, "admission_void")
    assert buyer.now()["refund_due"] == PRICE


def test_who_is_inside_keeps_the_admission(acme, admission):
    assert redeem(admission)
    refused = void(acme, admission, transferred=True, force=True)
    assert refused.json["code"] == "already_redeemed"
    assert status_of(admission) == "valid"


def test_a_transferred_admission_must_be_named_as_one(acme, admission):
    change(admission, transferred_at=NOW, generation=2)
    refused = void(acme, admission)
    assert (refused.status_code, refused.json["code"]) == (409, "was_transferred")
    assert void(acme, admission, transferred=True).json["status"] == "void"


def test_unsent_scans_of_a_door_device_must_be_forced(acme):
    event = acme.event(start_at=in_days(0.05))
    first, second = admissions_of(given(acme, acme.ticket(event, **FREE), quantity=2))
    for harmless in ({"unsynced": 0}, {"unsynced": None}, {"revoked_at": NOW}, {"paired_at": None}):
        device(event["id"], acme, **harmless)
    device(acme.event()["id"], acme)
    assert void(acme, first).status_code == 200
    device(event["id"], acme)
    refused = void(acme, second)
    assert (refused.status_code, refused.json["code"]) == (409, "doors_unsynced")
    assert void(acme, second, force=True).status_code == 200


@pytest.mark.parametrize(
    ("seen", "refused"),
    [
        ({"last_seen_at": NOW - timedelta(minutes=3)}, True),
        ({"last_seen_at": NOW - timedelta(hours=3), "scans": 1}, True),
        ({"last_seen_at": NOW - timedelta(minutes=1)}, False),
        ({"last_seen_at": NOW - timedelta(hours=3)}, False),
        ({"last_seen_at": None}, False),
        ({"last_seen_at": NOW - timedelta(minutes=3), "revoked_at": NOW}, False),
        ({"last_seen_at": NOW - timedelta(minutes=3), "expires_at": NOW}, False),
    ],
)
def test_a_silent_device_may_have_let_the_holder_in(acme, monkeypatch, seen, refused):
    StoppedClock(monkeypatch, NOW)
    event = acme.event(start_at=written(NOW + timedelta(hours=1)))
    first, second = admissions_of(given(acme, acme.ticket(event, **FREE), quantity=2))
    device(event["id"], acme, unsynced=0, **seen)
    assert void(acme, first, refund=False).status_code == 200
    answer = void(acme, second)
    assert answer.status_code == (409 if refused else 200)
    if refused:
        assert answer.json["code"] == "doors_unsynced"
        assert void(acme, second, force=True).status_code == 200


def test_before_doors_open_unsent_scans_do_not_matter(acme, admission):
    device(admission.event_id, acme)
    assert void(acme, admission).status_code == 200


def test_a_suspended_one_stays_void_when_its_payment_returns(acme, node):
    ticket = acme.ticket()
    worker_once(acme.app)
    buyer = acme.buyer(ticket, quantity=2)
    snapshot = node.rpc("evm_snapshot")
    buyer.pay(node)
    worker_once(acme.app)
    first, second = admissions_of(buyer)
    node.rpc("evm_revert", snapshot)
    node.rpc("anvil_mine", "0x5")
    worker_once(acme.app)
    assert [status_of(each) for each in (first, second)] == ["suspended"] * 2
    assert void(acme, first).status_code == 200
    assert (buyer.now()["status"], buyer.now()["refund_due"]) == ("reversed", 0)
    assert acme.stock(ticket) == (0, 1)
    assert reconciliation.reconcile(None) == []
    buyer.pay(node)
    worker_once(acme.app)
    assert [status_of(each) for each in (first, second)] == ["void", "valid"]
    assert (buyer.now()["status"], buyer.now()["refund_due"]) == ("confirmed", PRICE)
    assert reconciliation.reconcile(None) == []


def test_it_ends_open_offers_of_that_admission_only(acme):
    first, second = admissions_of(given(acme, acme.ticket(**FREE), quantity=2))
    ended, open_ = offer(first), offer(second)
    assert void(acme, first).status_code == 200
    assert Transfer.get_by_id(ended.id).ended_at is not None
    assert Transfer.get_by_id(open_.id).ended_at is None


def test_a_door_must_learn_of_it(acme, admission):
    change(admission, change_number=7)
    assert void(acme, admission).status_code == 200
    assert Admission.get_by_id(admission.id).change_number is None


def test_each_call_is_in_the_audit_log(acme, admission):
    change(admission, transferred_at=NOW)
    void(acme, admission, transferred=True)
    query = {"subject": admission.id}
    (entry,) = acme.api().get(f"{acme.path}/audit-log", query_string=query).json["data"]
    assert entry["action"] == "admissions_void_admission"
    assert entry["before"]["status"] == "valid"
    after = {name: entry["after"][name] for name in ("status", "void_reason", "transferred")}
    assert after == {"status": "void", "void_reason": "Asked for.", "transferred": True}
    assert admission.code not in str(entry)
