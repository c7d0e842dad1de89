"""The mail to those who have not answered the organizer's questions, once before the doors open."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.support.admissions import admissions_of, change, invite
from tests.support.factories import Api
from tests.support.mails import confirmed, order_link, send, text_of
from tests.support.questions import ask
from ticketing.models.events import Event
from ticketing.models.notifications import Mail
from ticketing.services.mail import reminders as reminders_module

pytestmark = pytest.mark.sql

BOB = "bob@example.org"


def opens_in(hours):
    opens = datetime.now(UTC) + timedelta(hours=hours)
    times = {"start_at": opens + timedelta(hours=1), "doors_open_at": opens, "end_at": None}
    Event.update(**times).execute()


def reminders(server):
    return [each for each in server.mails if each["Subject"].startswith("Please answer")]


def answer(organizer, admission):
    api = Api(organizer.app.test_client(), {"Authorization": f"Bearer {admission.code}"})
    path = f"{organizer.checkout}/admissions/{admission.id}"
    assert api.patch(path, {"answers": {"diet": "Cake"}}).status_code == 200


def test_one_mail_for_an_order_and_one_for_each_other_holder(acme, server, ticket):
    ask(acme, ticket["event_id"], ask="attendee", identifier="diet", required=True)
    buyer = confirmed(acme, ticket, quantity=3)
    done = confirmed(acme, ticket, buyer={"email": "done@example.org"})
    invite(acme, ticket, {"email": "guest@example.org"})
    first, second, third = admissions_of(buyer)
    change(third, transferred_at=datetime.now(UTC), holder_email=BOB, generation=2)
    opens_in(71)
    answer(acme, first)
    answer(acme, *admissions_of(done))
    send(acme.app)
    told = {each["To"]: text_of(each) for each in reminders(server)}
    assert set(told) == {"ada@example.org", BOB, "guest@example.org"}
    assert order_link(buyer) in told["ada@example.org"] and "/t/" not in told["ada@example.org"]
    assert f"/t/{third.code}" in told[BOB]
    send(acme.app)
    assert len(reminders(server)) == 3
    assert second.id


def test_nobody_is_reminded_too_early_too_late_or_of_what_may_be_missing(acme, server, ticket):
    question = ask(acme, ticket["event_id"], ask="attendee", identifier="diet")
    confirmed(acme, ticket)
    for hours in (73, -0.5, 71):
        opens_in(hours)
        send(acme.app)
    assert reminders(server) == [] and question["required"] is False


def test_who_answers_before_the_mail_is_sent_gets_none(acme, server, ticket):
    ask(acme, ticket["event_id"], ask="attendee", identifier="diet", required=True)
    buyer = confirmed(acme, ticket)
    opens_in(71)
    reminders_module.plan()
    (mail,) = Mail.select().where(Mail.kind == "answers_missing")
    assert (mail.status, mail.subject) == ("waiting", buyer.intent["id"])
    answer(acme, *admissions_of(buyer))
    send(acme.app)
    assert reminders(server) == []
    assert Mail.get_by_id(mail.id).status == "dropped"
