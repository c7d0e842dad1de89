"""Organizers find an order by what people know of it."""

import pytest

from tests.support.admissions import admissions_of, given

pytestmark = pytest.mark.sql

ADA = {"email": "Ada@Example.org", "name": "Ada"}


@pytest.fixture
def order(acme):
    """A free order of Ada. Another order is newer."""
    ticket = acme.ticket(price_amount=0, chain_id=None)
    buyer = given(acme, ticket, buyer=ADA)
    given(acme, ticket)
    return buyer


def found(organizer, q):
    path = f"{organizer.path}/intents"
    answer = organizer.api("read").get(path, query_string={"q": q, "status": "expired"})
    assert answer.status_code == 200, answer.json
    assert answer.json["next_cursor"] is None
    return [each["id"] for each in answer.json["data"]]


def test_an_order_is_found_by_its_id_its_ticket_or_its_buyer(acme, order):
    (ticket,) = admissions_of(order)
    for q in (order.intent["id"], ticket.id, "ada@example.ORG"):
        assert found(acme, q) == [order.intent["id"]], q


def test_the_newest_order_of_an_address_comes_first(acme, order):
    ticket = acme.ticket(price_amount=0, chain_id=None)
    newer = given(acme, ticket, buyer=ADA)
    assert found(acme, "ada@example.org") == [newer.intent["id"], order.intent["id"]]


def test_no_order_of_a_neighbour_is_found(neighbour, order):
    for q in (order.intent["id"], "ada@example.org"):
        assert found(neighbour, q) == []


def test_text_that_identifies_nothing_finds_nothing(acme, order):
    for q in ("Ada", "pi_none", "0x12", "%", "ada@example.org "):
        assert found(acme, q) == [], q
