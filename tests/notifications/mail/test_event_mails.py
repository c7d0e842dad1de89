"""Mails about an event that was canceled or moved."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.support.admissions import admissions_of, change, invite
from tests.support.factories import CHAIN, PRICE
from tests.support.mails import (
    ADA,
    START,
    WHEN,
    calendar_of,
    change_intent,
    confirmed,
    html_of,
    order_link,
    send,
    tell,
    text_of,
)
from tests.support.refunds import received
from ticketing.models.admissions import Admission
from ticketing.models.events import Event
from ticketing.models.notifications import Mail
from ticketing.services.notifications import numbering


def test_a_canceled_event_is_told_to_buyers_holders_and_guests_once(acme, server, ticket):
    buyers = [confirmed(acme, ticket, quantity=2) for _ in range(2)]
    assert invite(acme, ticket, ADA, {"email": "guest@example.org"}).status_code == 201
    admission = admissions_of(buyers[0])[0]
    change(admission, transferred_at=datetime.now(UTC), holder_email="bob@example.org")
    change_intent(buyers[0], due=10_000_000)
    Admission.update(status="void", void_reason="event_canceled").execute()
    Event.update(status="canceled").execute()
    data = {"event_id": ticket["event_id"], "status": "canceled", "refund": True}
    tell(acme.id, ("event.canceled", data))
    send(acme.app)
    expected = ["ada@example.org", "bob@example.org", "guest@example.org"]
    assert sorted(server.recipients) == expected
    assert {mail["Subject"] for mail in server.mails} == {"Canceled: Launch Night"}
    told = {mail["To"]: text_of(mail) for mail in server.mails}
    assert "You get back 10.00 USDC on Local." in told["ada@example.org"]
    assert "You get back" not in told["bob@example.org"] + told["guest@example.org"]
    assert WHEN in told["bob@example.org"]


def test_a_cancelation_is_one_mail_that_says_all_that_comes_back(acme, server):
    ticket = acme.ticket(capacity=None)
    first, second = (confirmed(acme, ticket, buyer=ADA) for _ in range(2))
    bob = confirmed(acme, ticket, buyer={"email": "bob@example.org"})
    for buyer in (first, second, bob):
        change_intent(buyer, received=PRICE)
    path = f"{acme.path}/events/{ticket['event_id']}/status"
    canceled = acme.api().post(path, {"status": "canceled", "refund": True})
    assert canceled.status_code == 200, canceled.json
    numbering.number_all()
    send(acme.app)
    assert sorted(server.recipients) == [ADA["email"], "bob@example.org"]
    for mail in server.mails:
        orders = (first, second) if mail["To"] == ADA["email"] else (bob,)
        assert mail["Subject"] == "Canceled: Launch Night"
        for part in (text_of(mail), html_of(mail)):
            assert part.count("You get back 5.00 USDC on Local.") == len(orders)
            assert all(order_link(each) in part for each in orders)
    # What becomes due for another reason later has its own mail.
    change_intent(bob, due=PRICE + 1)
    tell(acme.id, ("refund.due", {"intent_id": bob.intent["id"], "event_id": ticket["event_id"]}))
    send(acme.app)
    assert server.mails[-1]["Subject"] == "You get 5.000001 USDC back: Launch Night"


def test_a_moved_event_is_told_with_its_new_time_and_place(acme, server, ticket, buyer):
    moved = {"start_at": START + timedelta(days=1), "venue": "Side Hall", "timezone": "Asia/Tokyo"}
    Event.update(**moved).execute()
    changed = {
        "event_id": ticket["event_id"],
        "status": "published",
        "changed": ["start_at"],
        "tell_people": True,
    }
    tell(acme.id, ("event.changed", changed))
    send(acme.app)
    mail = server.only()
    assert mail["Subject"] == "New time or place: Launch Night"
    for part in (text_of(mail), html_of(mail)):
        assert "Tuesday, 3 June 2031, 03:00 (Asia/Tokyo)" in part and "Side Hall" in part
    assert str(calendar_of(mail)["location"]) == "Side Hall"


@pytest.mark.sql
class TestOrdersOfStrangers:
    """Each address gets one mail about an event. A stranger's order with it does not take it."""

    @pytest.fixture
    def stranger(self, acme, ticket):
        """An order with the buyer's address that was made before, and is not paid."""
        return acme.buyer(ticket, buyer=ADA)

    @pytest.fixture
    def paid_a_bit(self, acme, ticket):
        """Another one that received the smallest amount."""
        buyer = acme.buyer(ticket, buyer=ADA)
        received(buyer)
        return buyer

    def test_a_canceled_event_is_told_of_the_order_that_was_paid(
        self, acme, server, ticket, stranger, paid_a_bit, buyer
    ):
        for unpaid in (stranger, paid_a_bit):
            change_intent(unpaid, status="canceled", ended_at=datetime.now(UTC))
        change_intent(buyer, due=10_000_000)
        Event.update(status="canceled").execute()
        data = {"event_id": ticket["event_id"], "status": "canceled", "refund": True}
        tell(acme.id, ("event.canceled", data))
        send(acme.app)
        assert "You get back 10.00 USDC on Local." in text_of(server.only())
        assert order_link(buyer) in text_of(server.only())

    def test_a_moved_event_is_told_of_what_most_was_paid_for(
        self, acme, server, ticket, stranger, paid_a_bit
    ):
        changed = {
            "event_id": ticket["event_id"],
            "status": "published",
            "changed": ["venue"],
            "tell_people": True,
        }
        tell(acme.id, ("event.changed", changed))
        send(acme.app)
        assert order_link(paid_a_bit) in text_of(server.only())
        paid = confirmed(acme, ticket)
        tell(acme.id, ("event.changed", changed))
        send(acme.app)
        assert order_link(paid) in text_of(server.mails[-1])

    def test_who_was_given_a_ticket_that_was_paid_gets_no_link_of_a_strangers_order(
        self, acme, server, ticket, stranger
    ):
        admission = admissions_of(confirmed(acme, ticket, buyer={}))[0]
        change(admission, transferred_at=datetime.now(UTC), holder_email=ADA["email"])
        changed = {
            "event_id": ticket["event_id"],
            "status": "published",
            "changed": ["venue"],
            "tell_people": True,
        }
        tell(acme.id, ("event.changed", changed))
        send(acme.app)
        assert order_link(stranger) not in text_of(server.only())
        assert Mail.get().subject == admission.id


@pytest.mark.parametrize("price", [0, PRICE])
def test_an_order_that_nobody_paid_for_has_no_text_of_its_buyer(acme, server, price):
    ticket = acme.ticket(price_amount=price, chain_id=CHAIN if price else None)
    evil = {"name": "Ada! Your refund waits: https://evil.example", "email": ADA["email"]}
    buyer = acme.buyer(ticket, buyer=evil)
    changed = {
        "event_id": ticket["event_id"],
        "status": "published",
        "changed": ["venue"],
        "tell_people": True,
    }
    tell(acme.id, ("event.changed", {"intent_id": buyer.intent["id"], **changed}))
    send(acme.app)
    assert "evil" not in str(server.only())
    assert text_of(server.only()).startswith("Hello,")


def test_an_order_that_received_money_has_its_buyers_name(acme, server):
    ticket = acme.ticket()
    buyer = acme.buyer(ticket, buyer=ADA)
    received(buyer)
    changed = {
        "event_id": ticket["event_id"],
        "status": "published",
        "changed": ["venue"],
        "tell_people": True,
    }
    tell(acme.id, ("event.changed", changed))
    send(acme.app)
    assert text_of(server.only()).startswith("Hello Ada Lovelace,")


@pytest.mark.parametrize("fields", [{"changed": ["title"]}, {"status": "draft"}])
def test_another_change_of_an_event_is_not_told(acme, server, ticket, buyer, fields):
    data = {
        "event_id": ticket["event_id"],
        "status": "published",
        "changed": ["venue"],
        "tell_people": True,
    }
    tell(acme.id, ("event.changed", {**data, **fields}))
    send(acme.app)
    assert not Mail.select().exists()
