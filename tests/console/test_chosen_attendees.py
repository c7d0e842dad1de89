"""Several attendees at once: tickets that are sent again or taken back."""

import csv
import io
import re

import pytest

from tests.support.admissions import invite, redeem
from tests.support.console import Console
from tests.support.mail_server import MailServer
from tests.support.mails import SENDER
from ticketing.constants import DEFAULT_PAGE, AdmissionStatus
from ticketing.models.admissions import Admission
from ticketing.models.audit_log import AuditLogEntry
from ticketing.models.notifications import Mail

ATTENDEES = "/console/attendees"
CHOSEN = f"{ATTENDEES}/chosen"
GUESTS = [{"name": "Ada", "email": "ada@example.org"}, {"name": "Grace"}, {"name": "Joan"}]
VOID = {"reason": "The evening is full.", "refund": ""}


@pytest.fixture
def guests(acme):
    """The ids of three guests' tickets, the newest first."""
    made = invite(acme, acme.ticket(), *GUESTS).json["admissions"]
    return [each["id"] for each in reversed(made)]


def statuses():
    found = Admission.select().order_by(Admission.id.desc())
    return [each.status for each in found]


def test_the_list_offers_the_chosen_and_all_of_a_page(writer: Console, reader, guests):
    page = writer.get(ATTENDEES).text
    assert re.findall(r'form="chosen" name="chosen" value="(\w+)"', page) == guests
    assert re.findall(r'name="listed" value="(\w+)"', page) == guests
    listed = {"listed": guests, "chosen": guests[:1]}
    assert "1 chosen ticket<" in writer.send(CHOSEN, listed).text
    assert "3 chosen tickets<" in writer.send(CHOSEN, {**listed, "all": "on"}).text
    assert "You chose no ticket." in writer.send(CHOSEN, {"listed": guests}).text
    assert 'name="chosen"' not in reader.get(ATTENDEES).text
    for path in (CHOSEN, f"{CHOSEN}/send", f"{CHOSEN}/void"):
        assert reader.send(path, listed).status_code == 403


def test_chosen_tickets_are_taken_back_and_the_others_stay(writer, guests):
    form = {**VOID, "chosen": guests[:2]}
    done = writer.send(f"{CHOSEN}/void", form)
    assert done.status_code == 200 and "2 are taken back." in done.text
    assert statuses() == [AdmissionStatus.VOID, AdmissionStatus.VOID, AdmissionStatus.VALID]
    recorded = AuditLogEntry.select().where(AuditLogEntry.action == "admissions_void_admission")
    assert {each.subject for each in recorded} == set(guests[:2])


def test_one_that_is_refused_keeps_no_other_from_being_done(writer, guests):
    redeem(Admission.get_by_id(guests[1]))
    done = writer.send(f"{CHOSEN}/void", {**VOID, "chosen": guests}).text
    assert "2 are taken back." in done
    assert f'href="{ATTENDEES}/{guests[1]}">' in done[done.index("Not done for") :]
    assert statuses() == [AdmissionStatus.VOID, AdmissionStatus.VALID, AdmissionStatus.VOID]


def test_they_are_downloaded_and_written_to_in_a_mail_program(acme, writer, guests):
    form = {"chosen": guests, "refund": ""}
    page = writer.send(CHOSEN, form).text
    assert 'href="mailto:?bcc=ada%40example.org"' in page
    file = writer.send(f"{CHOSEN}/export", form)
    assert file.headers["Content-Disposition"].endswith('"attendees-chosen.csv"')
    head, *rows = csv.reader(io.StringIO(file.data.decode("utf-8-sig")))
    assert head == ["Name", "Email", "Event", "Ticket", "Status", "Came in"]
    assert [row[0] for row in rows] == ["Joan", "Grace", "Ada"]
    assert rows[2][1:2] + rows[2][4:] == ["ada@example.org", "Valid", ""]


def test_a_form_without_a_reason_is_shown_again_and_takes_nothing_back(writer, guests):
    again = writer.send(f"{CHOSEN}/void", {"refund": "", "reason": "", "chosen": guests})
    assert again.status_code == 422 and "3 chosen tickets" in again.text
    assert set(statuses()) == {AdmissionStatus.VALID}


def test_tickets_of_neighbours_and_unknown_ones_are_not_chosen(writer, neighbour, guests):
    other = invite(neighbour, neighbour.ticket(), {"name": "Eve"}).json["admissions"][0]["id"]
    form = {**VOID, "chosen": [other, "adm_x", guests[0]]}
    assert "1 is taken back." in writer.send(f"{CHOSEN}/void", form).text
    assert Admission.get_by_id(other).status == AdmissionStatus.VALID
    assert "1 chosen ticket<" in writer.send(CHOSEN, {"chosen": ["\0", guests[0]]}).text
    many = {"chosen": ["x"] * DEFAULT_PAGE + guests}
    assert "You chose no ticket." in writer.send(CHOSEN, many).text


class TestWithMail:
    """The service can send mail."""

    @pytest.fixture
    def environ(self, environ):
        with MailServer() as server:
            public = {"PUBLIC_URL": "http://localhost", "MAIL_FROM": SENDER}
            yield {**environ, "SMTP_URL": server.url, **public}

    def test_who_has_an_address_gets_the_ticket_again(self, writer, guests):
        assert "Send these tickets" in writer.send(CHOSEN, {"chosen": guests}).text
        before = Mail.select().count()
        done = writer.send(f"{CHOSEN}/send", {"chosen": guests}).text
        assert "1 is on its way by mail." in done
        refused = done[done.index("Not done for") : done.index('<ul class="rows">')]
        assert re.findall(r"admission|Grace|Joan|Ada", refused) == ["Joan", "Grace"]
        assert Mail.select().count() == before + 1
