"""Seats that are given back are scarce too: nobody keeps them from others without paying."""

import re
from datetime import datetime, timedelta

import pytest

from tests.support.admissions import admissions_of
from tests.support.factories import Api, Buyer
from tests.support.order_pages import SAME_ORIGIN, key_in
from tests.support.stopped_clock import START
from ticketing.models.admissions import Admission
from ticketing.models.events import Event
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services.payments import settlement

pytestmark = pytest.mark.sql

STRANGER, HONEST, THIRD = "192.0.2.1", "198.51.100.7", "203.0.113.9"
MINUTE = 60


@pytest.fixture
def environ(environ):
    return {**environ, "HOLD_SECONDS": "900"}


@pytest.fixture
def returned(acme):
    """A sold-out ticket type, and a function that gives some of its free seats back."""
    terms = {"returns": "when_resold", "price_amount": 0, "chain_id": None, "max_per_order": 4}
    ticket = acme.ticket(capacity=8, **terms)
    seats = []
    for _ in range(2):
        holder = acme.buyer(ticket, quantity=4)
        assert holder.purchase().status_code == 200
        seats += admissions_of(holder)

    def give_back(count):
        for seat in seats[:count]:
            api, path = of_holder(acme, seat)
            assert api.post(f"{path}/return").status_code == 200
        return ticket, seats[:count]

    return give_back


def of_holder(acme, seat):
    code = Admission.get_by_id(seat.id).code
    api = acme.with_headers({"Authorization": f"Bearer {code}"})
    return api, f"{acme.checkout}/admissions/{seat.id}"


def order(acme, ticket, address, quantity=1, **fields):
    body = {"event_id": ticket["event_id"], "ticket_id": ticket["id"], "quantity": quantity}
    api = Api(acme.app.test_client())
    overrides = {"REMOTE_ADDR": address}
    return api.post(f"{acme.checkout}/preflight", {**body, **fields}, environ_overrides=overrides)


def refused(answer, code, status=429):
    assert (answer.status_code, answer.json["code"]) == (status, code)
    return int(answer.headers.get("Retry-After", 0))


def expire(time):
    """Let unpaid orders of returned seats end, one second ago."""
    time.forward(seconds=5 * MINUTE + 1)
    settlement.expire_free()


def test_they_are_held_for_five_minutes_and_no_longer(acme, returned, time):
    ticket, _ = returned(1)
    made = order(acme, ticket, STRANGER)
    assert made.status_code == 201
    held = datetime.fromisoformat(made.json["expires_at"]) - START
    assert held == timedelta(minutes=5)
    stranger = Buyer(acme, made.json)
    refused(stranger.api.post(f"{stranger.path}/hold"), "hold_not_extendable", 409)


def test_who_did_not_pay_for_them_waits_longer_each_time(acme, returned, time):
    ticket, _ = returned(1)
    for number, minutes in enumerate((5, 10, 20, 40, 40)):
        made = order(acme, ticket, STRANGER)
        assert made.status_code == 201, made.json
        expire(time)
        wait = refused(order(acme, ticket, STRANGER), "returned_unpaid")
        assert wait == minutes * MINUTE - 1
        # Meanwhile an honest buyer gets the seat, and leaves it again here.
        honest = order(acme, ticket, f"198.51.100.{number}")
        assert honest.status_code == 201
        assert Buyer(acme, honest.json).cancel().status_code == 200
        time.forward(seconds=wait)
    time.forward(seconds=24 * 60 * MINUTE)
    assert order(acme, ticket, STRANGER).status_code == 201


def test_a_network_waits_after_three_of_its_orders(acme, returned, time):
    ticket, _ = returned(1)
    for number in range(3):
        address = f"2001:db8:1:{number}::1"
        made = order(acme, ticket, address)
        assert made.status_code == 201, made.json
        expire(time)
    assert refused(order(acme, ticket, "2001:db8:1:9::1"), "returned_unpaid") == 5 * MINUTE - 1
    assert order(acme, ticket, "2001:db8:2:1::1").status_code == 201


def test_one_that_was_canceled_counts_too(acme, returned, time):
    ticket, _ = returned(1)
    made = order(acme, ticket, STRANGER)
    assert Buyer(acme, made.json).cancel().status_code == 200
    assert refused(order(acme, ticket, STRANGER), "returned_unpaid") >= 5 * MINUTE
    assert order(acme, ticket, HONEST).status_code == 201


def test_while_others_want_them_one_order_has_at_most_half(acme, returned, time):
    ticket, _ = returned(4)
    made = order(acme, ticket, STRANGER, 4)
    assert made.status_code == 201  # nobody else wanted any
    refused(order(acme, ticket, HONEST), "sold_out", 409)
    assert Buyer(acme, made.json).cancel().status_code == 200
    refused(order(acme, ticket, THIRD, 3), "sold_out", 409)
    assert order(acme, ticket, THIRD, 2).status_code == 201
    assert order(acme, ticket, HONEST, 2).status_code == 201
    time.forward(seconds=6 * MINUTE)
    settlement.expire_free()
    assert order(acme, ticket, "203.0.113.77", 4).status_code == 201


def test_a_single_one_is_never_halved(acme, returned):
    ticket, _ = returned(1)
    made = order(acme, ticket, STRANGER)
    refused(order(acme, ticket, HONEST), "sold_out", 409)
    assert Buyer(acme, made.json).cancel().status_code == 200
    assert order(acme, ticket, HONEST).status_code == 201


def test_who_corrects_the_same_form_goes_on_and_gains_no_time(acme, returned, time):
    ticket, _ = returned(1)
    event = Event.get_by_id(ticket["event_id"])
    path, client = f"/acme/{event.slug}", acme.app.test_client()
    here = {"environ_overrides": {"REMOTE_ADDR": STRANGER}}
    form = {"ticket_id": ticket["id"], "quantity": "1"}
    form["idempotency_key"] = key_in(client.get(path, **here).text)
    ends = set()
    for email in ("ada@example.rog", "ada@example.net", "ada@example.org"):
        sent = {**form, "email": email}
        answer = client.post(f"{path}/order", data=sent, headers=SAME_ORIGIN, **here)
        assert "/o/" in answer.headers["Location"], answer.headers
        newest = PaymentIntent.select().order_by(PaymentIntent.id.desc()).get()
        ends.add(newest.hold_until)
        time.forward(seconds=MINUTE)
    assert len(ends) == 1
    time.forward(seconds=4 * MINUTE)
    settlement.expire_free()
    # It counts once.
    assert refused(order(acme, ticket, STRANGER), "returned_unpaid") <= 5 * MINUTE


def test_the_holder_reads_until_when_somebody_may_pay(acme, returned, time):
    ticket, (seat,) = returned(1)
    order(acme, ticket, STRANGER)
    api, path = of_holder(acme, seat)
    assert refused(api.post(f"{path}/return/cancel"), "return_in_progress", 409) == 5 * MINUTE
    page = acme.app.test_client().get(f"/t/{Admission.get_by_id(seat.id).code}").text
    said = re.sub(r"\s+", " ", page)
    assert "If nobody has paid by" in said and "you can keep this ticket" in said
    time.forward(seconds=5 * MINUTE + 1)
    settlement.expire_free()
    assert api.post(f"{path}/return/cancel").status_code == 200
