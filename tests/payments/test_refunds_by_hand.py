"""Refunds that the organizer pays by hand, as from an exchange: they are on no list."""

import time
from functools import partial

import pytest

from tests.support.books import change_home
from tests.support.factories import CHAIN, Api, cli, worker_once
from tests.support.payouts import (
    OTHER,
    PAYER,
    ask,
    end_lists,
    fund,
    listed,
    mark,
    owed,
    sign,
    with_address,
)
from tests.support.races import at_once
from tests.support.refunds import account, give_back, pass_hours, settled, waive
from tests.support.refunds import listed as refunds_of
from ticketing import clock
from ticketing.models.audit_log import AuditLogEntry
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.payments import Payment
from ticketing.models.payouts import Payout
from ticketing.services.money import owed as owed_now
from ticketing.services.money import payouts
from ticketing.services.payments import chain_settlement, payout_events

RACES = 20

pytestmark = pytest.mark.usefixtures("node")


@pytest.fixture
def venue(app, node):
    """An organizer whose wallet is an ordinary address. Two accounts can pay its refunds."""
    venue = with_address(app, node)
    fund(node, 500), fund(node, 500, OTHER)
    return venue


def marked(venue, buyer):
    answer = mark(venue, buyer)
    assert answer.status_code == 200, answer.json
    return answer.json["by_hand_since"]


def since(venue):
    """The marks of all refunds that are due."""
    return [each["by_hand_since"] for each in refunds_of(venue)]


def is_marked(buyer):
    row = PaymentIntent.get_by_id(buyer.intent["id"])
    return row.home.by_hand_at is not None


def entries():
    return AuditLogEntry.select().where(AuditLogEntry.action == "refunds_mark_refund").count()


def refused(answer, code="refund_listed"):
    return (answer.status_code, answer.json["code"]) == (409, code)


def test_a_marked_refund_is_on_no_list_until_the_mark_is_removed(node, venue):
    first, second = owed(venue, node, 7, 9)
    at = marked(venue, first)
    assert at is not None and since(venue) == [at, None]
    for payer in (PAYER, OTHER):
        of_list = listed(venue, node, payer)
        ids = [each["intent_id"] for each in of_list["payments"]]
        assert ids == ([second.intent["id"]] if payer == PAYER else [])
        by_hand = [
            (each["intent_id"], each["amount"], each["reason"]) for each in of_list["blocked"]
        ]
        assert by_hand == [(first.intent["id"], 7, "by_hand")]
        assert of_list["left"] == {"orders": 0, "amount": 0}
    answer = mark(venue, first, by_hand=False)
    assert (answer.status_code, answer.json["by_hand_since"]) == (200, None)
    assert [each["amount"] for each in listed(venue, node)["payments"]] == [7, 9]


def test_a_repeat_changes_nothing_and_is_recorded_once(node, venue):
    (buyer,) = owed(venue, node, 7)
    assert marked(venue, buyer) == marked(venue, buyer)
    assert entries() == 1
    for _ in range(2):
        assert mark(venue, buyer, by_hand=False).status_code == 200
    newest, oldest = (
        venue.api()
        .get(f"{venue.path}/audit-log", query_string={"subject": buyer.intent["id"]})
        .json["data"]
    )
    assert (newest["before"], newest["after"]) == ({"by_hand": True}, {"by_hand": False})
    assert (oldest["before"], oldest["after"]) == ({"by_hand": False}, {"by_hand": True})


def test_a_refund_on_a_list_cannot_be_marked_before_the_list_has_ended(
    app, node, venue, monkeypatch
):
    (buyer,) = owed(venue, node, 7)
    listed(venue, node)
    assert refused(mark(venue, buyer)) and entries() == 0
    end_lists(node, monkeypatch)
    assert refused(mark(venue, buyer))  # nothing is final after its end yet
    worker_once(app)
    assert marked(venue, buyer)
    assert listed(venue, node)["payments"] == []


def test_a_payment_that_is_seen_and_not_booked_yet_cannot_be_paid_by_hand(
    app, node, venue, monkeypatch
):
    monkeypatch.setattr(payout_events, "BOOKED_PER_PASS", 1)
    buyers = owed(venue, node, 7, 9)
    sign(node, listed(venue, node))
    worker_once(app)
    (waits,) = [each for each in buyers if each.now()["refund_due"]]
    assert refused(mark(venue, waits))
    worker_once(app)
    assert refused(mark(venue, waits), "no_refund_due")


def test_a_settled_refund_has_no_mark(node, venue):
    (buyer,) = owed(venue, node, 7)
    marked(venue, buyer)
    assert settled(venue, buyer, give_back(node, 3)) == 3
    assert not is_marked(buyer)
    assert [each["amount"] for each in listed(venue, node)["payments"]] == [4]


def test_one_transaction_settles_marked_refunds_too(node, venue):
    (buyer,) = owed(venue, node, 7)
    marked(venue, buyer)
    body = {"tx_hash": give_back(node, 7), "chain_id": CHAIN}
    answer = venue.api().post(f"{venue.path}/refunds/settle", body)
    assert [each["amount"] for each in answer.json["settled"]] == [7]
    assert not is_marked(buyer)


def test_a_refund_on_a_list_is_not_waived_before_the_list_has_ended(app, node, venue, monkeypatch):
    (buyer,) = owed(venue, node, 7)
    listed(venue, node)
    assert refused(waive(venue, buyer, 7))
    small = {"max_amount": 100, "reason": "too small"}
    assert venue.api().post(f"{venue.path}/refunds/waive", small).json["waived"] == 0
    end_lists(node, monkeypatch)
    worker_once(app)
    assert waive(venue, buyer, 7).status_code == 200
    assert listed(venue, node)["payments"] == []


def test_a_waived_refund_has_no_mark(app, node, venue):
    (buyer,) = owed(venue, node, 7)
    marked(venue, buyer)
    assert waive(venue, buyer, 7).json["by_hand_since"] is None
    buyer.pay(node, 3)
    worker_once(app)
    assert [each["amount"] for each in listed(venue, node)["payments"]] == [3]


def test_a_booked_payout_removes_the_mark(app, node, venue):
    """The event of a list was missed, so the order was marked although the list was paid."""
    (buyer,) = owed(venue, node, 7)
    sign(node, listed(venue, node))
    OrderAccount.update(by_hand_at=clock.now()).execute()
    worker_once(app)
    assert (buyer.now()["refund_due"], is_marked(buyer)) == (0, False)
    assert "right" in cli(app, "reconcile")


def test_money_that_left_the_chain_and_returns_is_still_paid_by_hand(app, node, venue):
    """Otherwise a list could pay what the organizer has sent."""
    buyer = venue.buyer(venue.ticket())
    buyer.pay(node, buyer.intent["amount"])
    buyer.pay(node, 7)
    worker_once(app)
    at = marked(venue, buyer)
    for canonical, seen in ((False, []), (True, [at])):
        Payment.update(canonical=canonical).where(Payment.amount == 7).execute()
        chain_settlement.settle_again(CHAIN, [buyer.intent["id"]])
        assert since(venue) == seen
    assert listed(venue, node)["payments"] == []


def test_only_what_is_due_can_be_marked_and_a_mark_can_always_be_removed(node, venue):
    unpaid = venue.buyer(venue.ticket())
    assert refused(mark(venue, unpaid), "no_refund_due")
    assert mark(venue, unpaid, by_hand=False).status_code == 200
    (buyer,) = owed(venue, node, 7)
    marked(venue, buyer)
    change_home(buyer.intent["id"], due=0)
    assert mark(venue, buyer, by_hand=False).status_code == 200
    assert not is_marked(buyer)


def test_a_free_order_has_no_mark_to_set_or_to_remove(venue):
    free = venue.buyer(venue.ticket(price_amount=0, chain_id=None))
    assert refused(mark(venue, free), "no_refund_due")
    assert refused(mark(venue, free, by_hand=False), "no_refund_due")


@pytest.mark.long
def test_after_a_restore_nothing_is_marked_before_all_was_read(app, node, venue):
    (buyer,) = owed(venue, node, 7)
    listed(venue, node)
    Payout.delete().execute()
    cli(app, "db", "restored")
    answer = mark(venue, buyer)
    assert (answer.status_code, answer.json["code"]) == (503, "chain_unavailable")
    pass_hours(node, 0.1)
    worker_once(app)
    assert marked(venue, buyer)


def test_only_an_admin_of_the_tenant_marks(app, node, venue, acme):
    (buyer,) = owed(venue, node, 7)
    assert mark(venue, buyer, role="write").status_code == 403
    path = f"{acme.path}/refunds/{buyer.intent['id']}/by-hand"
    for by_hand in (True, False):
        assert acme.api().post(path, {"by_hand": by_hand}).status_code == 404
    assert mark(venue, buyer, by_hand="yes").status_code == 422


def test_what_is_paid_by_hand_is_not_offered_to_be_signed(node, venue):
    first, _ = owed(venue, node, 7, 9)
    marked(venue, first)
    now = owed_now.read(venue.id)
    (on_chain,) = now.networks
    assert (on_chain.listed.amount, on_chain.by_hand.amount, now.orders) == (9, 7, 2)


def test_a_refund_that_is_marked_while_it_is_tried_is_left_out(node, venue, monkeypatch):
    marked_one, stays = owed(venue, node, 7, 9)
    store = payouts._store

    def mark_first(*arguments):
        assert marked(venue, marked_one)
        return store(*arguments)

    monkeypatch.setattr(payouts, "_store", mark_first)
    of_list = listed(venue, node)
    assert [each["intent_id"] for each in of_list["payments"]] == [stays.intent["id"]]
    assert [row.intent_id for row in Payout.select()] == [stays.intent["id"]]


@pytest.mark.sql
def test_two_marks_at_once_are_one(app, node, venue):
    (buyer,) = owed(venue, node, 7)
    headers = venue.api().headers
    path = f"{venue.path}/refunds/{buyer.intent['id']}/by-hand"

    def press():
        return Api(app.test_client(), headers).post(path, {"by_hand": True}).json["by_hand_since"]

    first, second = at_once(press, press)
    assert first == second is not None
    assert entries() == 1


@pytest.mark.sql
@pytest.mark.long
def test_a_mark_and_a_list_at_once_never_both_pay(app, node, venue):
    """The mark comes earlier or later while the list is made."""
    (buyer,) = owed(venue, node, 7)
    headers = venue.api().headers
    path = f"{venue.path}/refunds/{buyer.intent['id']}/by-hand"
    started = time.monotonic()
    assert len(ask(venue, node).json["payments"]) == 1
    lasts = time.monotonic() - started

    def press(delay):
        time.sleep(delay)
        answer = Api(app.test_client(), headers).post(path, {"by_hand": True})
        assert answer.status_code == 200 or refused(answer), answer.json
        return answer.status_code == 200

    def propose():
        body = {"chain_id": CHAIN, "payer": account(node, PAYER), "accept_unwitnessed": True}
        answer = Api(app.test_client(), headers).post(f"{venue.path}/payouts", body)
        assert answer.status_code == 200, answer.json
        return bool(answer.json["payments"])

    for turn in range(RACES):
        Payout.delete().execute()
        OrderAccount.update(by_hand_at=None).execute()
        by_hand, by_list = at_once(partial(press, 1.2 * lasts * turn / RACES), propose)
        assert by_hand != by_list
        assert (is_marked(buyer), Payout.select().count()) == (by_hand, int(by_list))
