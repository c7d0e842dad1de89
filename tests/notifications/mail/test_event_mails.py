"""Mails about an event that was canceled or moved."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.support.admissions import admissions_of, change, invite
from tests.support.mails import (
    ADA,
    START,
    WHEN,
    calendar_of,
    change_intent,
    confirmed,
    html_of,
    send,
    tell,
    text_of,
)
from ticketing.models.admissions import Admission
from ticketing.models.events import Event
from ticketing.models.notifications import Mail


def test_a_canceled_event_is_told_to_buyers_holders_and_guests_once(acme, server, ticket):
    buyers = [confirmed(acme, ticket, quantity=2) for _ in range(2)]
    assert invite(acme, ticket, ADA, {"email": "guest@example.org"}).status_code == 201
    admission = admissions_of(buyers[0])[0]
    change(admission, transferred_at=datetime.now(UTC), holder_email="bob@example.org")
    change_intent(buyers[0], refund_due=10_000_000)
    Admission.update(status="void", void_reason="event_canceled").execute()
    Event.update(status="canceled").execute()
    data = {"event_id": ticket["event_id"], "status": "canceled", "refund": True}
    tell(acme.id, ("event.canceled", data))
    send(acme.app)
    expected = ["ada@example.org", "bob@example.org", "guest@example.org"]
    assert sorted(server.recipients) == expected
    assert {mail["Subject"] for mail in server.mails} == {"Canceled: Launch Night"}
    told = {mail["To"]: text_of(mail) for mail in server.mails}
    assert "You get back what you have paid" in told["ada@example.org"]
    assert "You get back" not in told["bob@example.org"] + told["guest@example.org"]
    assert WHEN in told["bob@example.org"]


def test_a_moved_event_is_told_with_its_new_time_and_place(acme, server, ticket, buyer):
    moved = {"start_at": START + timedelta(days=1), "venue": "Side Hall", "timezone": "Asia/Tokyo"}
    Event.update(**moved).execute()
    changed = {"event_id": ticket["event_id"], "status": "published", "changed": ["start_at"]}
    tell(acme.id, ("event.changed", changed))
    send(acme.app)
    mail = server.only()
    assert mail["Subject"] == "New time or place: Launch Night"
    for part in (text_of(mail), html_of(mail)):
        assert "Tuesday, 3 June 2031, 03:00 (Asia/Tokyo)" in part and "Side Hall" in part
    assert str(calendar_of(mail)["location"]) == "Side Hall"


@pytest.mark.parametrize("fields", [{"changed": ["title"]}, {"status": "draft"}])
def test_another_change_of_an_event_is_not_told(acme, server, ticket, buyer, fields):
    data = {"event_id": ticket["event_id"], "status": "published", "changed": ["venue"]}
    tell(acme.id, ("event.changed", {**data, **fields}))
    send(acme.app)
    assert not Mail.select().exists()
