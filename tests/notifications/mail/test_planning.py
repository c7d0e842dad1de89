"""Mails follow from the feed, each once. Without SMTP_URL nothing is planned."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.support.admissions import FREE, admissions_of, change, given, invite
from tests.support.apps import new_app
from tests.support.mails import ADA, confirm, confirmed, send, statuses, tell
from tests.support.tripwire import Killed
from ticketing.db.connection import write_transaction
from ticketing.models.notifications import Mail, Notification, NotificationFeed
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services.mail import planning, recipients
from ticketing.services.notifications import mail_queue

pytestmark = pytest.mark.sql


@pytest.fixture
def ticket(acme):
    return acme.ticket(capacity=None)


@pytest.fixture
def plan(acme):
    """A function that plans all that is in the feed."""
    keyring = acme.app.extensions["ticketing"].keyring

    def plan():
        while planning.plan(keyring):
            pass

    return plan


def moved(ticket):
    data = {
        "event_id": ticket["event_id"],
        "status": "published",
        "changed": ["venue"],
        "tell_people": True,
    }
    return "event.changed", data


def planned():
    return [(mail.kind, mail.subject) for mail in Mail.select().order_by(Mail.id)]


def mailed(acme):
    row = NotificationFeed.get_by_id(acme.id)
    return row.mailed_sequence, row.last_sequence


def test_what_needs_no_mail_is_skipped(acme, ticket, plan):
    buyer = confirmed(acme, ticket)
    intent = {"intent_id": buyer.intent["id"]}
    tell(
        acme.id, ("intent.created", intent), ("intent.expired", intent), ("intent.created", intent)
    )
    plan()
    assert planned() == [] and mailed(acme) == (3, 3)


def test_an_order_without_an_address_gets_no_mail(acme, ticket, plan):
    tell(acme.id, confirm(confirmed(acme, ticket, buyer={"name": "Ada"})))
    plan()
    assert planned() == [] and mailed(acme) == (1, 1)


def test_only_the_first_confirmation_is_told(acme, server, ticket):
    buyer = confirmed(acme, ticket)
    tell(acme.id, confirm(buyer), confirm(buyer))
    send(acme.app)
    tell(acme.id, confirm(buyer))
    send(acme.app)
    assert len(server.mails) == 1 and mailed(acme) == (3, 3)


def test_an_order_that_was_reversed_before_its_mail_was_sent_is_told_when_it_is_back(
    acme, server, ticket
):
    buyer = confirmed(acme, ticket)
    tell(acme.id, confirm(buyer))
    PaymentIntent.update(status="reversed").execute()
    send(acme.app)
    PaymentIntent.update(status="confirmed").execute()
    tell(acme.id, confirm(buyer))
    send(acme.app)
    assert [status for _, status in statuses()] == ["dropped", "sent"]
    assert len(server.mails) == 1


def test_many_notifications_are_planned_in_batches(acme, ticket, plan, monkeypatch):
    monkeypatch.setattr(planning, "AT_ONCE", 2)
    buyers = [confirmed(acme, ticket) for _ in range(5)]
    facts = [confirm(each) for each in buyers]
    tell(acme.id, *facts[:3], moved(ticket), *facts[3:], moved(ticket))
    plan()
    kinds = [kind for kind, _ in planned()]
    assert kinds == [
        *["order_confirmed"] * 3,
        "event_moved",
        *["order_confirmed"] * 2,
        "event_moved",
    ]
    assert mailed(acme) == (7, 7)


@pytest.mark.parametrize("killed_after", [0, 1, 2, 3])
def test_a_mail_to_everybody_is_planned_once_although_the_process_is_killed(
    acme, ticket, plan, monkeypatch, killed_after
):
    monkeypatch.setattr(recipients, "AT_ONCE", 2)
    buyers = [confirmed(acme, ticket, buyer={"email": f"b{n}@example.org"}) for n in range(5)]
    confirmed(acme, ticket, buyer={"email": "B0@EXAMPLE.org"})
    guests = [{"email": f"g{n}@example.org"} for n in range(3)]
    assert invite(acme, ticket, ADA, *guests, {"email": "b1@example.org"}).status_code == 201
    holder = admissions_of(buyers[0])[0]
    change(holder, transferred_at=datetime.now(UTC), holder_email="new@example.org")
    tell(acme.id, moved(ticket))
    left, add = [killed_after], mail_queue.add

    def add_or_die(rows):
        if not left[0]:
            raise Killed
        left[0] -= 1
        add(rows)

    monkeypatch.setattr(mail_queue, "add", add_or_die)
    with pytest.raises(Killed):
        plan()
    assert mailed(acme) == (0, 1)
    monkeypatch.setattr(mail_queue, "add", add)
    plan()
    assert mailed(acme) == (1, 1)
    addresses = sorted(recipients.address_of(mail) for mail in Mail.select())
    assert addresses == sorted(
        [ADA["email"], "new@example.org"]
        + [f"b{n}@example.org" for n in range(5)]
        + [f"g{n}@example.org" for n in range(3)]
    )


def test_two_who_have_one_address_since_the_planning_get_one_mail(acme, server, ticket, plan):
    confirmed(acme, ticket, buyer={"email": "bob@example.org"})
    confirmed(acme, ticket)
    tell(acme.id, moved(ticket))
    plan()
    PaymentIntent.update(buyer_email=ADA["email"]).execute()
    send(acme.app)
    assert sorted(status for _, status in statuses()) == ["dropped", "sent"]
    assert server.recipients == [ADA["email"]]


def test_an_order_that_ended_before_the_cancelation_is_not_told(acme, ticket, plan):
    before, with_it, unpaid = (acme.buyer(ticket, buyer=ADA) for _ in range(3))
    now = datetime.now(UTC)
    for buyer, status, ended_at in (
        (before, "canceled", now - timedelta(hours=1)),
        (with_it, "canceled", now),
        (unpaid, "expired", now),
    ):
        change = PaymentIntent.update(status=status, ended_at=ended_at)
        change.where(PaymentIntent.id == buyer.intent["id"]).execute()
    data = {"event_id": ticket["event_id"], "status": "canceled", "refund": True}
    tell(acme.id, ("event.canceled", data))
    plan()
    assert planned() == [("event_canceled", with_it.intent["id"])]


def test_each_tenant_has_its_own_feed(acme, neighbour, server, ticket):
    for organizer, seat in ((acme, ticket), (neighbour, neighbour.ticket())):
        tell(organizer.id, confirm(confirmed(organizer, seat)))
    send(acme.app)
    assert {mail["From"].addresses[0].display_name for mail in server.mails} == {
        "Acme",
        "Neighbour",
    }


class TestWithoutSmtpUrl:
    """The service without a mail server, and what follows once it gets one."""

    @pytest.fixture(autouse=True)
    def smtp(self, environ):
        return {name: environ.pop(name) for name in ("SMTP_URL", "MAIL_FROM")}

    @pytest.fixture
    def buyer(self, acme):
        return given(acme, acme.ticket(**FREE), buyer=ADA)

    def test_nothing_is_planned(self, acme, buyer):
        tell(acme.id, confirm(buyer))
        assert send(acme.app) is None
        assert planned() == [] and mailed(acme) == (0, 1)
        assert buyer.now()["status"] == "confirmed"

    def test_a_mail_server_that_comes_later_gets_what_is_younger_than_48_hours(
        self, environ, smtp, acme, server, buyer
    ):
        others = [given(acme, acme.ticket(**FREE), buyer=ADA) for _ in range(2)]
        old, older, young = tell(acme.id, confirm(buyer), *map(confirm, others))
        for each, hours in ((old, 48), (older, 100), (young, 47)):
            age = timedelta(hours=hours, minutes=1)
            Notification.update(created_at=datetime.now(UTC) - age).where(
                Notification.id == each
            ).execute()
        app = new_app({**environ, **smtp})
        send(app)
        (row,) = Mail.select()
        assert row.notification_id == young and len(server.mails) == 1
        assert mailed(acme) == (3, 3)


def test_old_mails_are_deleted(acme, server, ticket, time):
    tell(acme.id, confirm(confirmed(acme, ticket)))
    send(acme.app)
    time.forward(days=30)
    mail_queue.forget_old(30)
    assert len(planned()) == 1
    time.forward(seconds=1)
    mail_queue.forget_old(30)
    assert planned() == []


def test_planning_is_undone_with_its_transaction(acme, ticket, monkeypatch):
    tell(acme.id, confirm(confirmed(acme, ticket)))
    with pytest.raises(Killed), write_transaction():
        planning.plan(acme.app.extensions["ticketing"].keyring)
        raise Killed
    assert planned() == [] and mailed(acme) == (0, 1)
