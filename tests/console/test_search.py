"""The console's one field that finds events, orders, tickets and vouchers."""

from urllib.parse import quote

import pytest

from tests.support.admissions import FREE, given
from tests.support.order_pages import text_of

ADA = {"name": "Ada Lovelace", "email": "ada@example.org"}


@pytest.fixture
def found(reader):
    """What a reader reads on the page of a search."""

    def found(text):
        page = reader.get(f"/console/search?q={quote(text)}")
        assert page.status_code == 200
        return text_of(page.text)

    return found


def test_it_finds_events_orders_and_people_by_what_one_knows(acme, neighbour, found):
    event = acme.event(title="Night of Songs")
    neighbour.event(title="Night of Songs elsewhere")
    buyer = given(acme, acme.ticket(event, **FREE), buyer=ADA)
    assert "Night of Songs" in found("of song") and "elsewhere" not in found("of song")
    for text in ("ADA@example.org", buyer.intent["id"]):
        assert "Orders Ada Lovelace" in found(text)
    assert "Attendees Ada Lovelace" in found("lovel")
    assert "Nothing found." in found("Grace")
    assert "whole email address" in found("")


def test_who_may_write_finds_vouchers_by_their_code(acme, found, writer):
    event = acme.event()
    body = {"code": "FRIENDS", "max_usages": 5, "price_mode": "percent", "value": 20}
    acme.api("write").post(f"{acme.path}/events/{event['id']}/vouchers", body)
    page = writer.get("/console/search?q=friends").text
    assert f"/console/events/{event['id']}/vouchers/" in page and "FRIENDS" in page
    assert "Nothing found." in found("friends")


def test_a_text_of_a_stranger_is_shown_as_text(found, reader):
    text = "<b>'\"&"
    assert "Nothing found." in found(text)
    assert "<b>" not in reader.get(f"/console/search?q={quote(text)}").text
