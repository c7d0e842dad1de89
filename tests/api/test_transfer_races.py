"""A transfer beside whatever else happens to the admission at that moment: exactly one counts."""

import uuid

import pytest

from tests.support.factories import in_days
from tests.support.holders import Held, accept, bought
from tests.support.races import at_once
from ticketing import clock
from ticketing.db.connection import write_transaction
from ticketing.models.admissions import Admission, Transfer
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services.orders import admissions

pytestmark = pytest.mark.sql

ROUNDS = 6


@pytest.fixture
def ticket(acme):
    return acme.ticket(price_amount=0, chain_id=None, capacity=None)


def rounds(acme, ticket):
    """Yield new admissions, each with an open offer."""
    for _ in range(ROUNDS):
        (held,) = bought(acme, ticket)
        yield held, held.offer().json["offer"]


def row(held):
    return Admission.get_by_id(held.id)


def void(organizer, held):
    body = {"reason": "asked for it", "refund": False}
    return organizer.post(f"{held.organizer.path}/admissions/{held.id}/void", body)


def scan(organizer, held, event_id, qr):
    """Scan a QR code, and return the outcome."""
    path = f"/v1/door/tenants/{held.organizer.slug}/events/{event_id}/scans"
    now = clock.now().isoformat()
    scanned = {"nonce": str(uuid.uuid4()), "kind": "redeem", "qr": qr, "at": now}
    answer = organizer.post(path, {"sent_at": now, "scans": [scanned]})
    assert answer.status_code == 200, answer.json
    return answer.json["results"][0]["outcome"]


def test_of_many_who_accept_one_offer_one_gets_the_ticket(acme, ticket):
    for held, offer in rounds(acme, ticket):
        told = at_once(*[lambda offer=offer: accept(acme, offer)] * 8)
        won = [answer for answer in told if answer.status_code == 200]
        assert len(won) == 1
        assert {answer.status_code for answer in told} == {200, 410}
        assert (row(held).generation, row(held).code) == (2, won[0].json["code"])


def test_a_ticket_is_either_transferred_or_used_to_enter(acme):
    event = acme.event(doors_open_at="2020-01-01T00:00:00Z", transfers_end_at=in_days(1))
    door = acme.api("write")
    for held, offer in rounds(acme, acme.ticket(event, price_amount=0, capacity=None)):
        qr = held.get().json["qr"]
        outcome, taken = at_once(
            lambda held=held, qr=qr: scan(door, held, event["id"], qr),
            lambda offer=offer: accept(acme, offer),
        )
        if outcome == "admitted":
            assert (taken.status_code, taken.json["code"]) == (409, "already_redeemed")
        else:
            assert (outcome, taken.status_code) == ("superseded", 200)
        is_inside = row(held).redeemed_at is not None
        assert (is_inside, row(held).generation) in ((True, 1), (False, 2))
        assert is_inside == (outcome == "admitted")


def test_a_ticket_is_either_transferred_or_voided(acme, ticket):
    organizer = acme.api("write")
    for held, offer in rounds(acme, ticket):
        voided, taken = at_once(
            lambda held=held: void(organizer, held), lambda offer=offer: accept(acme, offer)
        )
        if voided.status_code == 200:
            assert (taken.status_code, taken.json["code"]) == (409, "admission_void")
        else:
            assert (voided.json["code"], taken.status_code) == ("was_transferred", 200)
        assert (row(held).status, row(held).generation) in (("void", 1), ("valid", 2))


def test_a_ticket_that_a_reorganization_suspends_is_transferred_before_or_not_at_all(acme, ticket):
    for held, offer in rounds(acme, ticket):
        intent = PaymentIntent.get_by_id(row(held).intent_id)

        def suspend(intent=intent):
            with write_transaction():
                admissions.suspend(intent)

        _, taken = at_once(suspend, lambda offer=offer: accept(acme, offer))
        assert row(held).status == "suspended"
        assert taken.status_code in (200, 409)
        assert row(held).generation == (2 if taken.status_code == 200 else 1)


@pytest.mark.parametrize("what", ["cancel", "offer"])
def test_an_offer_is_either_accepted_or_taken_back(acme, ticket, what):
    for held, offer in rounds(acme, ticket):
        told, taken = at_once(getattr(held, what), lambda offer=offer: accept(acme, offer))
        if taken.status_code == 200:
            assert (told.status_code, row(held).generation) == (404, 2)
        else:
            assert (taken.status_code, row(held).generation) == (410, 1)
            assert told.status_code == (200 if what == "cancel" else 201)
        assert Transfer.select().where(Transfer.accepted_at.is_null(False)).count() <= ROUNDS


def test_a_seller_who_asks_and_names_meanwhile_never_sees_the_new_code(acme, ticket):
    for held, offer in rounds(acme, ticket):
        named, taken, *told = at_once(
            lambda held=held: held.name(name="Mallory"),
            lambda offer=offer: accept(acme, offer, name="Bob"),
            *[held.get] * 4,
        )
        assert taken.status_code == 200
        new = Held(acme, held.id, taken.json["code"])
        assert new.get().json["holder"] == {"name": "Bob", "email": None}
        for answer in (named, *told):
            assert answer.status_code in (200, 404)
            assert new.code not in answer.text and "Bob" not in answer.text


def test_at_most_three_offers_are_made_at_once(acme, ticket):
    (held,) = bought(acme, ticket)
    told = at_once(*[held.offer] * 8)
    assert sorted(answer.status_code for answer in told) == [201] * 3 + [429] * 5
    assert Transfer.select().where(Transfer.ended_at.is_null()).count() == 1
