"""The console's pages that send mails again, and ask before they tell everybody."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.support.admissions import admissions_of, change, invite
from tests.support.console import hidden_fields, sign_in
from tests.support.factories import in_days
from tests.support.mail_server import MailServer
from tests.support.mails import ADA, SENDER, confirmed, send, text_of
from ticketing.models.messages import Message
from ticketing.models.notifications import Mail
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services.notifications import numbering

pytestmark = pytest.mark.one_database


@pytest.fixture
def server():
    with MailServer() as running:
        yield running


@pytest.fixture
def environ(environ, server):
    return {
        **environ,
        "SMTP_URL": server.url,
        "MAIL_FROM": SENDER,
        "PUBLIC_URL": "http://localhost",
    }


@pytest.fixture
def ticket(acme):
    return acme.ticket(acme.event(timezone="Europe/Berlin", start_at="2031-06-01T18:00:00Z"))


def test_an_order_is_sent_again_with_the_same_tickets_to_a_corrected_address(
    acme, writer, server, ticket
):
    buyer = confirmed(acme, ticket, buyer={"email": "ada@exmaple.org"})
    path = f"/console/orders/{buyer.intent['id']}"
    assert 'value="ada@exmaple.org"' in writer.get(path).text
    codes = [each.code for each in admissions_of(buyer)]
    answer = writer.send(f"{path}/email", {"email": ADA["email"]})
    assert answer.headers["Location"] == f"{path}#sent-again"
    send(acme.app)
    mails = {each["To"]: each for each in server.mails}
    assert mails.keys() == {"ada@exmaple.org", ADA["email"]}
    assert all(code in text_of(mails[ADA["email"]]) for code in codes)
    assert ADA["email"] not in text_of(mails["ada@exmaple.org"])
    assert PaymentIntent.get_by_id(buyer.intent["id"]).buyer_email == ADA["email"]
    entry = acme.api().get(f"{acme.path}/audit-log").json["data"][0]
    assert (entry["action"], entry["after"]) == (
        "intents_send_intent_to_email",
        {"email": ADA["email"], "end_old_links": False},
    )
    assert writer.send(f"{path}/email", {"email": "nobody"}).status_code == 422


@pytest.mark.parametrize("role", ["write", "finance"])
def test_old_links_end_by_a_box_for_those_who_may(acme, ticket, server, role):
    member = sign_in(acme, role, "m@example.org")
    paid, unpaid = confirmed(acme, ticket), acme.buyer(ticket)
    for buyer, may in ((paid, role == "finance"), (unpaid, role == "write")):
        path = f"/console/orders/{buyer.intent['id']}"
        assert ("end_old_links" in member.get(path).text) is may
        form = {"email": " bob@example.org ", "end_old_links": "on"}
        sent = member.send(f"{path}/email", form)
        assert sent.status_code == (303 if may else 403)
        assert buyer.api.get(buyer.path).status_code == (404 if may else 200)


def test_readers_send_nothing_again(acme, reader, ticket):
    buyer = confirmed(acme, ticket)
    path = f"/console/orders/{buyer.intent['id']}"
    assert "Send the mail again" not in reader.get(path).text
    assert reader.send(f"{path}/email", {"email": ADA["email"]}).status_code == 403


def test_a_ticket_is_sent_again_as_it_is(acme, writer, server, ticket):
    guest = invite(acme, ticket, {"email": "guest@example.org"}).json
    Mail.delete().execute()
    admission_id, code = guest["admissions"][0]["id"], guest["codes"][0]
    path = f"/console/attendees/{admission_id}"
    assert "Send the ticket again" in writer.get(path).text
    assert writer.send(f"{path}/send").headers["Location"] == f"{path}#sent-again"
    send(acme.app)
    text = text_of(server.only())
    assert code in text and "no longer work" not in text
    assert acme.api().post(f"{acme.path}/admissions/{admission_id}/send").status_code == 200


def test_a_ticket_without_an_address_cannot_be_sent(acme, ticket):
    guest = invite(acme, ticket, {"name": "Grace"}).json["admissions"][0]
    answer = acme.api().post(f"{acme.path}/admissions/{guest['id']}/send")
    assert (answer.status_code, answer.json["code"]) == (409, "no_email")


@pytest.mark.parametrize(("choice", "mails"), [("on", 2), ("", 0)])
def test_a_move_asks_first_whether_to_tell_people(acme, writer, server, ticket, choice, mails):
    confirmed(acme, ticket, buyer={"email": "bob@example.org"})
    change(
        admissions_of(confirmed(acme, ticket, quantity=2))[1],
        transferred_at=datetime.now(UTC),
        holder_email="bob@example.org",
    )
    path = f"/console/events/{ticket['event_id']}"
    form = {
        "title": "Launch Night",
        "type": "in_person",
        "venue": "Pier 3",
        "timezone": "Europe/Berlin",
        "start_at": "2031-06-01T20:00",
    }
    asked = writer.send(f"{path}/edit", form)
    assert asked.status_code == 200 and "2 people have tickets or orders" in asked.text
    assert hidden_fields(asked.text) and 'value="Pier 3"' in asked.text
    saved = writer.send(f"{path}/edit", {**form, "tell_people": choice})
    assert saved.headers["Location"] == f"{path}#saved"
    Mail.delete().execute()
    numbering.number_all()
    send(acme.app)
    assert len([each for each in server.mails if "New time or place" in each["Subject"]]) == mails
    # Another field is saved at once.
    renamed = writer.send(f"{path}/edit", {**form, "title": "Late Night"})
    assert renamed.status_code == 303


def test_a_reminder_is_set_in_the_form(acme, writer):
    event = acme.event(start_at=in_days(30))
    path = f"/console/events/{event['id']}/edit"
    form = {
        "title": "Launch Night",
        "type": "in_person",
        "timezone": "UTC",
        "start_at": event["start_at"][:16],
        "reminder_hours": "24",
        "tell_people": "",
    }
    assert writer.send(path, form).status_code == 303
    assert acme.api().get(f"{acme.path}/events/{event['id']}").json["reminder_hours"] == 24
    assert 'name="reminder_hours" value="24"' in writer.get(path).text
    assert writer.send(path, {**form, "reminder_hours": "169"}).status_code == 422


def test_a_message_is_checked_sent_and_listed(acme, writer, server, ticket):
    confirmed(acme, ticket)
    path = f"/console/events/{ticket['event_id']}/messages"
    assert "Nobody has written" in writer.get(path).text
    form = {"subject": "Doors at eight", "text": "Come at eight.", "audience": "holders"}
    checked = writer.send(path, {**form, "ticket_ids": ""})
    assert "1 person gets this message." in checked.text and "Send to 1 person" in checked.text
    sent = writer.send(path, {**form, "ticket_ids": "", "confirmed": "on"})
    assert sent.headers["Location"] == f"{path}#written"
    Mail.delete().where(Mail.kind != "message").execute()
    send(acme.app)
    assert server.only()["Subject"] == "Doors at eight"
    page = writer.get(path).text
    assert "1 sent, 0 not" in page and "Doors at eight" in page and writer.email in page
    later = {**form, "confirmed": "on", "send_at": "2031-01-01T10:00", "subject": "Later"}
    assert writer.send(path, later).status_code == 303
    message = acme.api().get(f"{acme.path}/events/{ticket['event_id']}/messages").json["data"][0]
    assert message["send_at"] == "2031-01-01T09:00:00Z"
    assert writer.send(f"{path}/{message['id']}").headers["Location"] == f"{path}#canceled"
    assert writer.send(path, {**form, "subject": " "}).status_code == 422


def test_a_preview_goes_to_its_writer_alone(acme, writer, server, ticket):
    confirmed(acme, ticket)
    path = f"/console/events/{ticket['event_id']}/messages"
    form = {"subject": "Doors at eight", "text": "Come at eight.", "audience": "holders"}
    shown = writer.send(path, {**form, "preview": "on"})
    assert shown.status_code == 200 and 'value="Doors at eight"' in shown.text
    send(acme.app)
    assert server.only()["To"] == writer.email and "Come at eight." in text_of(server.only())
    assert "Nobody has written" in writer.get(path).text
    Message.update(created_at=datetime.now(UTC) - timedelta(days=4)).execute()
    send(acme.app)
    assert Message.select().count() == 0
