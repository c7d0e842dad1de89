"""The console's pages of attendees and guests, and the downloads of an event."""

import re

import pytest

from tests.support.admissions import FREE, admissions_of, change, given, invite, redeem
from tests.support.holders import Held
from tests.support.mail_server import MailServer
from tests.support.mails import SENDER
from ticketing import clock
from ticketing.models.admissions import Admission
from ticketing.models.door import DoorDevice
from ticketing.models.notifications import Mail

ATTENDEES = "/console/attendees"
ADA = {"name": "Ada Lovelace", "email": "ada@lovelace.example"}
VOID = {"reason": "Asked for by the holder.", "refund": ""}
TICKET_LINK = re.compile(r'data-copy="http://localhost/t/([0-9a-z]+)"')


@pytest.fixture
def ticket(acme):
    """The ticket of Ada, who ordered it for nothing."""
    (admission,) = admissions_of(given(acme, acme.ticket(**FREE), buyer=ADA))
    return admission


def now(ticket):
    return Admission.get_by_id(ticket.id)


def test_attendees_are_searched_and_filtered(acme, reader, ticket):
    guest = invite(acme, acme.ticket(), {"name": "Grace"}).json["admissions"][0]["id"]
    change(Admission.get_by_id(guest), redeemed_at=clock.now())
    for query, shown in (
        ("", {ticket.id, guest}),
        ("q=LOVE", {ticket.id}),
        (f"event_id={ticket.event_id}", {ticket.id}),
        ("used=yes", {guest}),
        ("used=no", {ticket.id}),
        ("status=void", set()),
        ("status=x&used=x&q=%00", {ticket.id, guest}),
    ):
        page = reader.get(f"{ATTENDEES}?{query}").text
        assert {each for each in (ticket.id, guest) if each in page} == shown, query


def test_a_reader_sees_a_ticket_and_is_offered_no_change(reader, ticket):
    page = reader.get(f"{ATTENDEES}/{ticket.id}").text
    assert "Ada Lovelace" in page and ticket.intent_id in page
    assert ticket.code not in page
    assert "Take it back" not in page and "Give it a new link" not in page
    for action, form in (("void", VOID), ("reissue", {}), ("erase", {})):
        assert reader.send(f"{ATTENDEES}/{ticket.id}/{action}", form).status_code == 403


def test_a_ticket_is_taken_back_and_it_is_recorded(acme, writer, ticket):
    path = f"{ATTENDEES}/{ticket.id}"
    for _ in range(2):
        assert writer.send(f"{path}/void", VOID).headers["Location"] == f"{path}#taken-back"
    page = writer.get(path).text
    assert VOID["reason"] in page and "Without a refund." in page
    entries = acme.api().get(f"{acme.path}/audit-log").json["data"]
    (entry,) = [each for each in entries if each["subject"] == ticket.id]
    assert entry["action"] == "admissions_void_admission"
    assert entry["after"]["status"] == "void" and entry["after"]["refund"] is False


@pytest.mark.parametrize("wrong", [{"reason": " "}, {"reason": "event_canceled"}])
def test_a_wrong_form_is_shown_again_with_what_is_wrong(writer, ticket, wrong):
    answer = writer.send(f"{ATTENDEES}/{ticket.id}/void", {**VOID, **wrong})
    assert answer.status_code == 422
    assert 'id="reason-error"' in answer.text
    assert now(ticket).status == "valid"


def test_a_ticket_that_was_passed_on_is_taken_back_only_on_purpose(writer, acme, ticket):
    Held(acme, ticket.id, ticket.code).transferred(name="Grace")
    path = f"{ATTENDEES}/{ticket.id}/void"
    assert 'name="transferred"' not in writer.get(f"{ATTENDEES}/{ticket.id}").text
    refused = writer.send(path, VOID)
    assert refused.status_code == 409
    assert 'name="transferred"' in refused.text and VOID["reason"] in refused.text
    again = writer.send(path, {**VOID, "transferred": ""})
    assert again.status_code == 409
    assert writer.send(path, {**VOID, "transferred": "on"}).status_code == 303
    assert now(ticket).status == "void"


def test_a_holder_who_may_be_inside_loses_the_ticket_only_on_purpose(writer, acme, ticket, admin):
    event = f"{acme.path}/events/{ticket.event_id}"
    admin.patch(event, {"doors_open_at": "2020-01-01T00:00:00Z"})
    device = admin.post(f"{event}/door-devices", {"name": "Phone"}).json["id"]
    DoorDevice.update(paired_at=clock.now(), unsynced=3).where(DoorDevice.id == device).execute()
    path = f"{ATTENDEES}/{ticket.id}/void"
    refused = writer.send(path, VOID)
    assert refused.status_code == 409 and 'name="force"' in refused.text
    assert writer.send(path, {**VOID, "force": "on"}).status_code == 303


def test_a_used_ticket_is_not_offered_to_be_taken_back(writer, ticket):
    redeem(ticket)
    assert "Take it back" not in writer.get(f"{ATTENDEES}/{ticket.id}").text


def test_a_new_link_is_shown_once_and_made_once(writer, ticket):
    path = f"{ATTENDEES}/{ticket.id}/reissue"
    shown = writer.send(path)
    assert shown.status_code == 200
    (code,) = TICKET_LINK.findall(shown.text)
    assert code == now(ticket).code != ticket.code
    repeated = writer.send(path)
    assert repeated.status_code == 200
    assert now(ticket).code == code
    assert code not in repeated.text and "not shown again" in repeated.text
    assert code not in writer.get(f"{ATTENDEES}/{ticket.id}").text


class TestWithMail:
    """The service can send mail."""

    @pytest.fixture
    def environ(self, environ):
        with MailServer() as server:
            public = {"PUBLIC_URL": "http://localhost", "MAIL_FROM": SENDER}
            yield {**environ, "SMTP_URL": server.url, **public}

    def test_a_new_link_is_mailed_and_not_shown(self, writer, ticket):
        path = f"{ATTENDEES}/{ticket.id}"
        answer = writer.send(f"{path}/reissue", {"email": "new@example.org"})
        assert answer.headers["Location"] == f"{path}#mailed"
        (mail,) = Mail.select().where(Mail.kind == "ticket", Mail.recipient == "new@example.org")
        assert mail.subject == ticket.id
        assert "Waiting" in writer.get(path).text


def test_guests_are_added_and_their_links_are_shown_once(acme, writer):
    ticket = acme.ticket()
    path = f"/console/events/{ticket['event_id']}/guests"
    guests = "Ada Lovelace, ada@example.org\r\n\r\nGrace <Hopper>\r\nx@example.org"
    form = {"ticket_id": ticket["id"], "guests": guests, "reason": "Press."}
    assert "Add guests" in writer.get(path).text
    shown = writer.send(path, form)
    codes = TICKET_LINK.findall(shown.text)
    made = Admission.select().where(Admission.event == ticket["event_id"]).order_by(Admission.id)
    assert [each.code for each in made] == codes
    assert [each.holder for each in made] == [
        {"name": "Ada Lovelace", "email": "ada@example.org"},
        {"name": "Grace <Hopper>", "email": None},
        {"name": None, "email": "x@example.org"},
    ]
    repeated = writer.send(path, form)
    assert repeated.status_code == 200 and not TICKET_LINK.findall(repeated.text)
    assert made.count() == 3


@pytest.mark.parametrize(
    ("guests", "said"),
    [
        ("", "Please fill this in."),
        ("Ada\nGrace, nobody@", "wrong name or email address: 2."),
        ("x\n" * 101, "At most 100 guests at once."),
    ],
)
def test_a_wrong_guest_list_adds_nobody(acme, writer, guests, said):
    ticket = acme.ticket(capacity=200)
    form = {"ticket_id": ticket["id"], "guests": guests}
    answer = writer.send(f"/console/events/{ticket['event_id']}/guests", form)
    assert answer.status_code == 422 and said in answer.text
    assert not Admission.select().exists()


def test_guests_need_places(acme, writer):
    ticket = acme.ticket(capacity=1)
    form = {"ticket_id": ticket["id"], "guests": "Ada\nGrace"}
    answer = writer.send(f"/console/events/{ticket['event_id']}/guests", form)
    assert answer.status_code == 409 and "Ada\nGrace" in answer.text


def test_a_holder_is_erased_by_administrators_only(acme, console, writer, ticket):
    path = f"{ATTENDEES}/{ticket.id}"
    assert writer.send(f"{path}/erase").status_code == 403
    assert console.send(f"{path}/erase").headers["Location"] == f"{path}#erased"
    assert now(ticket).holder == {"name": None, "email": None}


def test_tickets_of_a_neighbour_are_not_found(neighbour, console):
    (theirs,) = admissions_of(given(neighbour, neighbour.ticket(**FREE), buyer=ADA))
    assert console.get(f"{ATTENDEES}/{theirs.id}").status_code == 404
    for action, form in (("void", VOID), ("reissue", {}), ("erase", {})):
        assert console.send(f"{ATTENDEES}/{theirs.id}/{action}", form).status_code == 404
    assert theirs.id not in console.get(f"{ATTENDEES}?event_id={theirs.event_id}").text
    event = f"/console/events/{theirs.event_id}"
    form = {"ticket_id": theirs.ticket_type_id, "guests": "Ada"}
    assert console.get(f"{event}/guests").status_code == 404
    assert console.send(f"{event}/guests", form).status_code == 404
    assert console.get(f"{event}/attendees.csv").status_code == 404


@pytest.mark.parametrize("name", ["attendees", "orders", "items", "payments"])
def test_files_of_an_event_are_downloaded_in_a_session(acme, reader, ticket, name):
    file = reader.get(f"/console/events/{ticket.event_id}/{name}.csv")
    over_api = acme.api().get(f"{acme.path}/events/{ticket.event_id}/{name}.csv")
    assert file.data == over_api.data
    assert file.headers["Content-Disposition"] == over_api.headers["Content-Disposition"]
    for page in ("orders", "attendees"):
        listed = reader.get(f"/console/{page}?event_id={ticket.event_id}").text
        assert f'href="/console/events/{ticket.event_id}/{name}.csv"' in listed
