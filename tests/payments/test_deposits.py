"""Deposits come back to who came, once, by orders whose payment is final, on both databases."""

from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from tests.support.admissions import admissions_of, given, invite, redeem, sold, void
from tests.support.factories import PRICE, worker_once
from tests.support.races import at_once
from ticketing.models.admissions import Admission
from ticketing.models.door import DoorDevice
from ticketing.models.events import Event
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services.payments import deposits, reconciliation

pytestmark = pytest.mark.sql

DEPOSIT = PRICE * 2 // 5


@pytest.fixture
def ticket(acme):
    """A ticket type of which a part of the price comes back."""
    return acme.ticket(deposit_amount=DEPOSIT)


def proof(acme):
    """The books must be right at any time."""
    assert reconciliation.reconcile(acme.id) == []


def path_of(acme, ticket):
    return f"{acme.path}/events/{ticket['event_id']}/deposits/release"


def release(acme, ticket, **body):
    """Ask for a release, and let the worker go through all orders."""
    api = acme.with_headers({"X-API-Key": acme.admin_key})
    answer = api.post(path_of(acme, ticket), body)
    assert answer.status_code == 202, answer.json
    while deposits.run_some():
        pass
    return api.get(path_of(acme, ticket)).json


def sums(outlook, name):
    return tuple(outlook[name][key] for key in ("seats", "orders", "amount"))


def device_with_scans(acme, ticket, count):
    """A paired device that has said how many scans it has to send."""
    api = acme.with_headers({"X-API-Key": acme.admin_key})
    path = f"{acme.path}/events/{ticket['event_id']}/door-devices"
    assert api.post(path, {"name": "Phone"}).status_code == 201
    DoorDevice.update(paired_at=datetime.now(UTC), unsynced=count).execute()


def due(buyer):
    return buyer.now()["refund_due"]


def test_who_came_is_owed_the_deposit_and_who_did_not_gets_nothing(acme, admin, node, ticket):
    ada, bob = sold(acme, node, ticket, quantity=2), sold(acme, node, ticket)
    shown = ada.now()
    assert shown["items"][0]["deposit_amount"] == DEPOSIT and shown["amount"] == 2 * PRICE
    (first, second) = admissions_of(ada)
    assert redeem(first)
    before = admin.get(path_of(acme, ticket)).json
    assert sums(before, "due") == (1, 1, DEPOSIT) and sums(before, "released") == (0, 0, 0)
    after = release(acme, ticket)
    assert sums(after, "released") == (1, 1, DEPOSIT) and sums(after, "due") == (0, 0, 0)
    assert not after["is_running"] and after["ran_at"] is not None
    assert (due(ada), due(bob)) == (DEPOSIT, 0)
    assert ada.now()["status"] == "confirmed"
    assert [Admission.get_by_id(each.id).status for each in (first, second)] == ["valid"] * 2
    # Nothing is released twice, and who comes later is added.
    release(acme, ticket)
    assert due(ada) == DEPOSIT
    assert redeem(second)
    assert sums(release(acme, ticket), "released") == (2, 1, 2 * DEPOSIT)
    assert due(ada) == 2 * DEPOSIT
    proof(acme)


def test_the_deposit_is_that_of_the_order(acme, admin, node, ticket):
    ada = sold(acme, node, ticket)
    path = f"{acme.path}/events/{ticket['event_id']}/tickets/{ticket['id']}"
    assert admin.patch(path, {"deposit_amount": 0}).status_code == 200
    (seat,) = admissions_of(ada)
    assert redeem(seat)
    release(acme, ticket)
    assert due(ada) == DEPOSIT
    refused = admin.patch(path, {"deposit_amount": PRICE + 1})
    assert refused.status_code == 422 and list(refused.json["errors"]) == ["deposit_amount"]
    proof(acme)


def test_a_voucher_lowers_the_deposit_to_what_was_paid(acme, admin, node, ticket):
    event = f"{acme.path}/events/{ticket['event_id']}"
    body = {"price_mode": "set", "value": DEPOSIT // 2, "max_usages": 2}
    code = admin.post(f"{event}/vouchers", body).json["code"]
    buyer = acme.buyer(ticket, voucher=code)
    assert buyer.intent["items"][0]["deposit_amount"] == DEPOSIT // 2
    free = acme.ticket({"id": ticket["event_id"]}, price_amount=0, chain_id=None)
    assert given(acme, free).now()["items"][0]["deposit_amount"] == 0


def test_an_undone_scan_keeps_what_was_released(acme, node, ticket):
    ada = sold(acme, node, ticket)
    (seat,) = admissions_of(ada)
    assert redeem(seat)
    release(acme, ticket)
    Admission.update(redeemed_at=None, redeemed_by=None).where(Admission.id == seat.id).execute()
    release(acme, ticket)
    assert due(ada) == DEPOSIT
    # Now it can be voided: the rest is owed, and not more than it cost.
    assert void(acme, seat).status_code == 200
    assert due(ada) == PRICE
    proof(acme)


def test_a_canceled_event_owes_everything_once(acme, admin, node, ticket):
    ada, bob = sold(acme, node, ticket), sold(acme, node, ticket)
    (seat,) = admissions_of(ada)
    assert redeem(seat)
    release(acme, ticket)
    path = f"{acme.path}/events/{ticket['event_id']}/status"
    assert admin.post(path, {"status": "canceled"}).status_code == 200
    release(acme, ticket)
    assert (due(ada), due(bob)) == (PRICE, PRICE)
    proof(acme)


def test_a_guest_and_a_void_ticket_have_none(acme, node, ticket):
    assert invite(acme, ticket, {"name": "Guest"}).status_code == 201
    guest = Admission.get(Admission.intent.is_null())
    ada = sold(acme, node, ticket)
    (seat,) = admissions_of(ada)
    assert redeem(guest)
    assert void(acme, seat, refund=False).status_code == 200
    assert sums(release(acme, ticket), "released") == (0, 0, 0)
    assert due(ada) == 0
    proof(acme)


def test_the_buyer_gets_it_for_a_ticket_that_was_passed_on(acme, node, ticket):
    ada = sold(acme, node, ticket)
    (seat,) = admissions_of(ada)
    Admission.update(transferred_at=datetime.now(UTC)).where(Admission.id == seat.id).execute()
    assert redeem(seat)
    release(acme, ticket)
    assert due(ada) == DEPOSIT
    proof(acme)


def test_what_is_not_final_waits_for_a_later_release(acme, node, ticket):
    ada = sold(acme, node, ticket)
    (seat,) = admissions_of(ada)
    of_ada = PaymentIntent.id == ada.intent["id"]
    PaymentIntent.update(early=True).where(of_ada).execute()
    Admission.update(redeemed_at=datetime.now(UTC)).where(Admission.id == seat.id).execute()
    found = release(acme, ticket)
    assert sums(found, "not_final") == (1, 1, DEPOSIT) and sums(found, "due") == (0, 0, 0)
    PaymentIntent.update(early=False).where(of_ada).execute()
    release(acme, ticket)
    assert due(ada) == DEPOSIT


def test_devices_that_have_scans_to_send_come_first(acme, admin, node, ticket):
    ada = sold(acme, node, ticket)
    (seat,) = admissions_of(ada)
    assert redeem(seat)
    device_with_scans(acme, ticket, 1)
    refused = admin.post(path_of(acme, ticket), {})
    assert (refused.status_code, refused.json["code"]) == (409, "doors_unsynced")
    release(acme, ticket, force=True)
    assert due(ada) == DEPOSIT


class TestByItself:
    """A day after the event, and daily for a week."""

    @pytest.fixture
    def ada(self, acme, node, ticket):
        buyer = sold(acme, node, ticket)
        (seat,) = admissions_of(buyer)
        assert redeem(seat)
        return buyer

    def ended(self, ticket, **ago):
        end = datetime.now(UTC) - timedelta(**ago)
        start = end - timedelta(hours=3)
        Event.update(start_at=start, end_at=end).where(Event.id == ticket["event_id"]).execute()

    def work(self):
        begun = deposits.begin_due()
        deposits.run_some()
        return begun

    def test_it_begins_a_day_after_the_end_and_again_each_day(self, acme, ticket, ada):
        self.ended(ticket, hours=23, minutes=59)
        assert self.work() == 0 and due(ada) == 0
        self.ended(ticket, hours=24, minutes=1)
        assert self.work() == 1 and due(ada) == DEPOSIT
        assert self.work() == 0
        ran = Event.get_by_id(ticket["event_id"]).deposits_run_at
        yesterday = ran - timedelta(hours=24, minutes=1)
        Event.update(deposits_run_at=yesterday).execute()
        assert self.work() == 1 and due(ada) == DEPOSIT
        proof(acme)

    def test_it_ends_after_a_week(self, ticket, ada):
        self.ended(ticket, days=9, minutes=1)
        assert self.work() == 0

    def test_the_organizer_can_do_it(self, acme, admin, ticket, ada):
        path = f"{acme.path}/events/{ticket['event_id']}"
        assert admin.patch(path, {"deposits_release": "manual"}).status_code == 200
        self.ended(ticket, hours=30)
        assert self.work() == 0
        release(acme, ticket)
        assert due(ada) == DEPOSIT

    def test_it_waits_for_devices_but_not_longer_than_a_week(self, acme, ticket, ada):
        device_with_scans(acme, ticket, 3)
        self.ended(ticket, days=7, hours=23)
        assert self.work() == 0
        self.ended(ticket, days=8, minutes=1)
        assert self.work() == 1 and due(ada) == DEPOSIT
        assert DoorDevice.get().unsynced == 3


def test_a_hundred_seats_eighty_come_twenty_of_them_at_a_door_that_is_offline(acme, node):
    """Two releases, three undone entries: eighty are owed the deposit, and no one twice."""
    ticket = acme.ticket(deposit_amount=DEPOSIT, capacity=100)
    buyers = [sold(acme, node, ticket, quantity=10) for _ in range(10)]
    seats = [seat for buyer in buyers for seat in admissions_of(buyer)]
    for seat in seats[:60]:
        assert redeem(seat)
    assert sums(release(acme, ticket), "released") == (60, 6, 60 * DEPOSIT)
    for seat in seats[60:80]:
        assert redeem(seat)
    for seat in seats[:3]:
        Admission.update(redeemed_at=None, redeemed_by=None).where(
            Admission.id == seat.id
        ).execute()
    at_once(*[partial(release, acme, ticket) for _ in range(3)])
    worker_once(acme.app)
    assert sums(release(acme, ticket), "released") == (80, 8, 80 * DEPOSIT)
    assert [due(buyer) for buyer in buyers] == [10 * DEPOSIT] * 8 + [0] * 2
    proof(acme)
