"""Messages of organizers to the people of an event."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from tests.support.admissions import admissions_of, change, invite, redeem
from tests.support.console import sign_in
from tests.support.factories import in_days, statuses
from tests.support.feed import feed
from tests.support.mails import ADA, confirmed, html_of, order_link, send, text_of
from ticketing import ids
from ticketing.models.admissions import Admission
from ticketing.models.messages import Message
from ticketing.models.notifications import Mail
from ticketing.services.mail import messages, recipients
from ticketing.services.notifications import mail_queue

pytestmark = pytest.mark.sql

BOB, EVE, GUEST = "bob@example.org", "eve@example.org", "guest@example.org"
TEXT = {"subject": "Doors at eight", "text": "Please come at eight.\n\nhttps://example.org/map"}


@pytest.fixture
def path(acme, ticket):
    return f"{acme.path}/events/{ticket['event_id']}/messages"


@pytest.fixture
def write(acme, path):
    """Write a message, and return the answer."""
    return lambda **fields: acme.api().post(path, {**TEXT, **fields})


def told(server):
    return sorted(server.recipients)


@pytest.fixture
def people(acme, ticket):
    """Ada has three tickets, one of which Bob has now; Eve has one; a guest came in already."""
    ada = confirmed(acme, ticket, quantity=3)
    change(admissions_of(ada)[2], transferred_at=datetime.now(UTC), holder_email=BOB, generation=2)
    confirmed(acme, ticket, buyer={"email": EVE})
    guest = invite(acme, ticket, {"email": GUEST}).json["admissions"][0]
    redeem(Admission.get_by_id(guest["id"]))
    acme.buyer(ticket, buyer={"email": "waits@example.org"})
    return ada


def test_everybody_with_a_ticket_gets_one_mail(acme, server, write, people):
    made = write()
    assert made.status_code == 201, made.json
    assert (made.json["status"], made.json["recipients"]) == ("scheduled", 4)
    send(acme.app)
    assert told(server) == sorted([ADA["email"], BOB, EVE, GUEST])
    mail = next(each for each in server.mails if each["To"] == ADA["email"])
    assert mail["Subject"] == "Doors at eight"
    text, html = text_of(mail), html_of(mail)
    assert "Please come at eight.\n\nhttps://example.org/map" in text.replace("\r\n", "\n")
    assert "You get this because you have a ticket for Launch Night." in text
    assert order_link(people) in text and order_link(people) in html
    assert 'href="https://example.org/map"' not in html


@pytest.mark.parametrize(
    ("audience", "expected"),
    [
        ("holders", [ADA["email"], BOB, EVE, GUEST]),
        ("buyers", [ADA["email"], EVE]),
        ("not_redeemed", [ADA["email"], BOB, EVE]),
    ],
)
def test_an_audience_chooses_among_them(acme, server, write, people, audience, expected):
    assert write(audience=audience).json["recipients"] == len(expected)
    send(acme.app)
    assert told(server) == sorted(expected)


def test_only_people_with_some_ticket_types(acme, server, write, people, ticket):
    other = acme.ticket({"id": ticket["event_id"]}, name="Stream")
    confirmed(acme, other, buyer={"email": "stream@example.org"})
    write(ticket_ids=[other["id"]])
    send(acme.app)
    assert told(server) == ["stream@example.org"]
    assert write(ticket_ids=[ids.new(ids.TICKET_TYPE)]).json["errors"].keys() == {"ticket_ids"}


def test_who_lost_their_ticket_meanwhile_gets_none(acme, server, write, ticket):
    first, second = (confirmed(acme, ticket, buyer={"email": each}) for each in (BOB, EVE))
    message = write().json
    messages.plan(acme.app.extensions["ticketing"].keyring)
    assert Mail.select().where(Mail.message_id == message["id"]).count() == 2
    change(admissions_of(first)[0], status="void")
    send(acme.app)
    assert told(server) == [EVE] and second


def test_the_people_of_a_canceled_event(acme, server, write, ticket, people):
    path = f"{acme.path}/events/{ticket['event_id']}/status"
    assert "audience" in write(audience="canceled").json["errors"]
    assert acme.api().post(path, {"status": "canceled"}).status_code == 200
    assert "audience" in write().json["errors"]
    assert write(audience="canceled").status_code == 201
    Mail.delete().where(Mail.kind != "message").execute()
    send(acme.app)
    assert told(server) == sorted([ADA["email"], BOB, EVE, GUEST])
    assert "You get this because you had a ticket" in text_of(server.mails[0])


def test_a_later_message_waits_and_can_be_canceled(acme, server, write, path, people):
    later = write(send_at=in_days(1)).json
    send(acme.app)
    assert server.mails == []
    shown = acme.api().get(f"{path}/{later['id']}").json
    assert (shown["status"], shown["sent"]) == ("scheduled", 0)
    canceled = acme.api().post(f"{path}/{later['id']}/cancel")
    assert (canceled.status_code, canceled.json["status"]) == (200, "canceled")
    assert acme.api().post(f"{path}/{later['id']}/cancel").json["status"] == "canceled"
    Message.update(send_at=datetime.now(UTC)).execute()
    send(acme.app)
    assert server.mails == []


def test_a_message_that_is_being_sent_can_be_stopped(acme, server, write, path, people):
    message = write().json
    messages.plan(acme.app.extensions["ticketing"].keyring)
    assert acme.api().get(f"{path}/{message['id']}").json["status"] == "sending"
    stopped = acme.api().post(f"{path}/{message['id']}/cancel").json
    assert (stopped["status"], stopped["recipients"], stopped["failed"]) == ("canceled", 4, 4)
    send(acme.app)
    assert server.mails == []


def test_at_the_end_the_counts_and_a_fact_say_what_became_of_it(acme, server, write, path, people):
    server.answers[BOB] = "550 No"
    message = write().json
    send(acme.app)
    shown = acme.api().get(f"{path}/{message['id']}").json
    counts = {"recipients": 4, "sent": 3, "failed": 1}
    assert shown["status"] == "sent" and {name: shown[name] for name in counts} == counts
    (fact,) = feed(acme, type="message.sent")
    ids_of = {"message_id": message["id"], "event_id": shown["event_id"]}
    assert {**fact["data"], "sequence": None} == {**ids_of, **counts, "sequence": None}
    refused = acme.api().post(f"{path}/{message['id']}/cancel")
    assert (refused.status_code, refused.json["code"]) == (409, "invalid_transition")


def test_a_worker_that_was_killed_begins_again_and_nobody_is_told_twice(
    acme, server, write, people, monkeypatch
):
    monkeypatch.setattr(recipients, "AT_ONCE", 1)
    write()
    add, planned = mail_queue.add, []

    def killed(rows):
        if len(planned) == 2:
            raise KeyboardInterrupt
        planned.append(add(rows))

    monkeypatch.setattr(mail_queue, "add", killed)
    with pytest.raises(KeyboardInterrupt):
        messages.plan(acme.app.extensions["ticketing"].keyring)
    monkeypatch.setattr(mail_queue, "add", add)
    send(acme.app)
    assert told(server) == sorted([ADA["email"], BOB, EVE, GUEST])


def test_three_a_day_for_an_event_and_so_many_people_for_a_tenant(acme, server, write, people):
    answers = [write() for _ in range(4)]
    assert statuses(answers) == [201, 201, 201, 409]
    assert answers[-1].json["code"] == "too_many_messages"
    other = acme.ticket()
    confirmed(acme, other)
    config = acme.app.extensions["ticketing"]
    acme.app.extensions["ticketing"] = replace(config, message_recipients=12)
    path = f"{acme.path}/events/{other['event_id']}/messages"
    assert acme.api().post(path, TEXT).json["code"] == "too_many_messages"
    Message.update(created_at=datetime.now(UTC) - timedelta(days=1)).execute()
    assert acme.api().post(path, TEXT).status_code == 201


def test_administrators_learn_of_the_first_message_of_each_writer(acme, server, write, people):
    sign_in(acme, "admin", "boss@example.org")
    write()
    write()
    send(acme.app)
    (mail,) = [each for each in server.mails if each["To"] == "boss@example.org"]
    assert mail["Subject"] == "A message to the people of Launch Night"
    assert "Please come at eight." in text_of(mail)


def test_a_key_gets_no_preview(acme, path):
    key = acme.with_headers({"X-API-Key": acme.admin_key})
    assert key.post(f"{path}/preview", TEXT).json["code"] == "insufficient_role"


def test_erased_people_get_none(acme, server, write, ticket):
    buyer = confirmed(acme, ticket)
    write()
    messages.plan(acme.app.extensions["ticketing"].keyring)
    path = f"{acme.path}/intents/{buyer.intent['id']}/erase"
    assert acme.api().post(path).status_code == 200
    send(acme.app)
    assert server.mails == []


def test_without_a_mail_server_it_is_refused(acme, path):
    config = acme.app.extensions["ticketing"]
    acme.app.extensions["ticketing"] = replace(config, smtp=None)
    assert acme.api().post(path, TEXT).json["code"] == "mail_not_configured"


def test_what_people_write_cannot_disguise_anything(acme, server, write, people):
    write(subject="A\u202eB\r\nBcc: x@example.org", text="<b>bold</b> \u202e{{ 7 * 7 }}")
    send(acme.app)
    mail = server.mails[0]
    assert mail["Subject"] == "AB Bcc: x@example.org" and mail["Bcc"] is None
    assert "<b>bold</b> {{ 7 * 7 }}" in text_of(mail)
    assert "&lt;b&gt;bold&lt;/b&gt; {{ 7 * 7 }}" in html_of(mail)
