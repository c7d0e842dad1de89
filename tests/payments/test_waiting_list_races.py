"""The waiting list with many at once: nobody is overtaken or offered twice, on both databases."""

from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from tests.support.admissions import FREE, admissions_of, given
from tests.support.races import at_once
from tests.support.waiting import (
    MAIL,
    buyer_of,
    free_one,
    mails,
    offer,
    proof,
    status,
    stock,
    wait,
    work,
)
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.waiting_list import WaitingListEntry

pytestmark = pytest.mark.sql


@pytest.fixture
def environ(environ):
    return {**environ, **MAIL}


def test_twenty_wait_and_five_give_back_of_whom_three_offers_are_not_paid(acme):
    """Capacity holds, five are owed, and nobody is offered twice."""
    ticket = acme.ticket(
        capacity=20, max_per_order=20, allow_waitinglist=True, returns="when_resold", **FREE
    )
    sold = given(acme, ticket, quantity=20)
    waiting = [wait(acme, ticket, f"{n}@example.org") for n in range(20)]
    seats = admissions_of(sold)
    for seat in seats[:5]:
        api = acme.with_headers({"Authorization": f"Bearer {seat.code}"})
        assert api.post(f"{acme.checkout}/admissions/{seat.id}/return").status_code == 200
    at_once(*[partial(offer, acme.app) for _ in range(3)])
    offer(acme.app)
    assert [status(each) for each in waiting] == ["offered"] * 5 + ["waiting"] * 15
    for entry in waiting[:2]:
        assert buyer_of(acme, entry).purchase().status_code == 200
    late = [WaitingListEntry.get_by_id(each.id).intent_id for each in waiting[2:5]]
    ago = datetime.now(UTC) - timedelta(seconds=1)
    PaymentIntent.update(expires_at=ago).where(PaymentIntent.id.in_(late)).execute()
    for _ in range(2):
        work(acme.app)
    expected = ["ordered"] * 2 + ["expired"] * 3 + ["offered"] * 3 + ["waiting"] * 12
    assert [status(each) for each in waiting] == expected
    for entry in waiting[5:8]:
        assert buyer_of(acme, entry).purchase().status_code == 200
    for _ in range(2):
        work(acme.app)
    assert [each.status for each in admissions_of(sold)].count("void") == 5
    assert stock(ticket) == (0, 20, 12)
    offered = mails("waiting_list_offer")
    assert len(offered) == len(set(offered)) == 8
    proof(acme)


def test_buyers_and_those_who_wait_race_for_free_seats(acme):
    """Whatever happens first: nobody who waits is overtaken once the seat is free."""
    ticket = acme.ticket(capacity=2, allow_waitinglist=True, **FREE)
    holders = [given(acme, ticket), given(acme, ticket)]
    waiting = [wait(acme, ticket, f"{n}@example.org") for n in range(3)]

    def buy():
        return acme.preflight(ticket).status_code

    def free(buyer):
        free_one(acme, buyer)
        return 200

    work = [partial(free, each) for each in holders]
    answers = at_once(*work, buy, buy, partial(offer, acme.app), buy)
    assert 201 not in answers
    offer(acme.app)
    assert [status(each) for each in waiting] == ["offered", "offered", "waiting"]
    assert stock(ticket) == (2, 0, 1)
    proof(acme)
