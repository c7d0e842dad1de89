"""Mails to administrators about sales, and the reminder before an event."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.support.admissions import admissions_of, change, invite
from tests.support.console import sign_in
from tests.support.mails import (
    ADA,
    change_intent,
    confirm,
    confirmed,
    html_of,
    order_link,
    send,
    tell,
    text_of,
)
from ticketing.models.events import Event
from ticketing.models.notifications import Mail
from ticketing.models.tenants import Tenant

pytestmark = pytest.mark.sql

BOSS, BOB, GUEST = "boss@example.org", "bob@example.org", "guest@example.org"


def choose(acme, setting):
    path = f"/v1/admin/tenants/{acme.slug}"
    assert acme.api().patch(path, {"sale_mails": setting}).json["sale_mails"] == setting


def sold_mails(server):
    return [each for each in server.mails if each["To"] == BOSS]


def test_each_paid_order_is_told_to_administrators_who_want_that(acme, server, ticket):
    sign_in(acme, "admin", BOSS)
    sign_in(acme, "write", "writer@example.org")
    buyer = confirmed(acme, ticket, quantity=2)
    free = confirmed(acme, acme.ticket(price_amount=0, chain_id=None))
    facts = [confirm(each) for each in (buyer, free)]
    for fact, each in zip(facts, (buyer, free), strict=True):
        fact[1]["amount"] = each.intent["amount"]
    tell(acme.id, *facts)
    send(acme.app)
    assert sold_mails(server) == []
    choose(acme, "each")
    tell(acme.id, *facts)
    send(acme.app)
    (mail,) = sold_mails(server)
    assert mail["Subject"] == "Sold for 10.00 USDC: Launch Night" and mail["Reply-To"] is None
    text = text_of(mail)
    assert "Ada Lovelace" in text and f"/console/orders/{buyer.intent['id']}" in text
    assert "writer@example.org" not in server.recipients


def test_the_sales_of_a_day_come_once_in_the_morning(time, acme, server):
    sign_in(acme, "admin", BOSS)
    choose(acme, "daily")
    ticket = acme.ticket(acme.event(start_at="2031-06-01T18:00:00Z"))
    for day in (1, 2, 2):
        sold_at = datetime(2030, 3, day, 7, tzinfo=UTC)
        change_intent(confirmed(acme, ticket), confirmed_at=sold_at)
    time.now = datetime(2030, 3, 1, 5, 0, tzinfo=UTC)
    send(acme.app)
    assert sold_mails(server) == []
    time.now = datetime(2030, 3, 2, 6, 30, tzinfo=UTC)
    send(acme.app)
    send(acme.app)
    (mail,) = sold_mails(server)
    assert mail["Subject"] == "1 ticket sold for 5.00 USDC"
    time.now = datetime(2030, 3, 3, 6, 30, tzinfo=UTC)
    send(acme.app)
    assert sold_mails(server)[1]["Subject"] == "2 tickets sold for 10.00 USDC"
    assert "Launch Night: 10.00" in text_of(sold_mails(server)[1])
    time.now = datetime(2030, 3, 4, 6, 30, tzinfo=UTC)
    send(acme.app)
    assert len(sold_mails(server)) == 2 and Tenant.get_by_id(acme.id).sales_told_at == time.now


def begins_in(hours):
    Event.update(start_at=datetime.now(UTC) + timedelta(hours=hours), end_at=None).execute()


def reminders(server):
    return {each["To"]: each for each in server.mails if each["Subject"].startswith("Soon")}


def test_a_reminder_brings_the_tickets_once(acme, server, ticket):
    path = f"{acme.path}/events/{ticket['event_id']}"
    assert acme.api().patch(path, {"reminder_hours": 24}).json["reminder_hours"] == 24
    buyer = confirmed(acme, ticket, quantity=3)
    first, second, third = admissions_of(buyer)
    change(third, transferred_at=datetime.now(UTC), holder_email=BOB, generation=2)
    invite(acme, ticket, {"email": GUEST})
    begins_in(25)
    send(acme.app)
    assert reminders(server) == {}
    begins_in(23)  # it moved, and so does its reminder
    send(acme.app)
    told = reminders(server)
    assert set(told) == {ADA["email"], BOB, GUEST}
    text = text_of(told[ADA["email"]])
    assert order_link(buyer) in html_of(told[ADA["email"]])
    assert first.code in text and second.code in text and third.code not in text
    assert third.code in text_of(told[BOB])
    assert [part.get_content_type() for part in told[BOB].walk()].count("image/png") == 1
    Mail.delete().execute()
    send(acme.app)
    assert len(server.mails) == len(set(server.recipients))


def test_no_reminder_without_one_set_or_after_the_beginning(acme, server, ticket):
    confirmed(acme, ticket)
    begins_in(5)
    send(acme.app)
    Event.update(reminder_hours=24).execute()
    begins_in(-1)
    send(acme.app)
    assert reminders(server) == {}
