"""A transfer beside whatever else happens to the admission at that moment: exactly one counts."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from tests.support.holders import Held, accept, bought
from ticketing import clock
from ticketing.db.connection import database, write_transaction
from ticketing.models.admissions import Admission, Transfer
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services.orders import admissions

ROUNDS = 12


@pytest.fixture
def ticket(acme):
    return acme.ticket(price_amount=0, chain_id=None, capacity=None)


def at_once(*calls):
    """Run each call in a thread of its own, all at the same time, and return their results."""
    start = Barrier(len(calls))

    def run(call):
        try:
            start.wait()
            return call()
        finally:
            database.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def rounds(acme, ticket):
    """Yield new admissions, each with an open offer."""
    for _ in range(ROUNDS):
        (held,) = bought(acme, ticket)
        yield held, held.offer().json["offer"]


def row(held):
    return Admission.get_by_id(held.id)


def update(held, condition, **columns):
    """Change the admission as services do: one conditional UPDATE. Return whether it counted."""
    with write_transaction():
        changed = Admission.update(columns).where(Admission.id == held.id, condition)
        return changed.execute() == 1


def test_of_many_who_accept_one_offer_one_gets_the_ticket(acme, ticket):
    for held, offer in rounds(acme, ticket):
        told = at_once(*[lambda offer=offer: accept(acme, offer)] * 8)
        won = [answer for answer in told if answer.status_code == 200]
        assert len(won) == 1
        assert {answer.status_code for answer in told} == {200, 410}
        assert (row(held).generation, row(held).code) == (2, won[0].json["code"])


def test_a_ticket_is_either_transferred_or_used_to_enter(acme, ticket):
    for held, offer in rounds(acme, ticket):
        is_good = (
            (Admission.generation == 1)
            & (Admission.status == "valid")
            & Admission.redeemed_at.is_null()
        )
        entered, taken = at_once(
            lambda held=held, is_good=is_good: update(held, is_good, redeemed_at=clock.now()),
            lambda offer=offer: accept(acme, offer),
        )
        assert entered == (taken.status_code != 200)
        if entered:
            assert (taken.status_code, taken.json["code"]) == (409, "already_redeemed")
        assert (row(held).generation, row(held).redeemed_at is None) == (
            1 if entered else 2,
            not entered,
        )


def test_a_ticket_is_either_transferred_or_voided(acme, ticket):
    for held, offer in rounds(acme, ticket):
        is_buyers = Admission.transferred_at.is_null() & (Admission.status == "valid")
        voided, taken = at_once(
            lambda held=held, is_buyers=is_buyers: update(held, is_buyers, status="void"),
            lambda offer=offer: accept(acme, offer),
        )
        assert voided == (taken.status_code != 200)
        if voided:
            assert (taken.status_code, taken.json["code"]) == (409, "admission_void")
        assert row(held).generation == (1 if voided else 2)


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
