"""Guests from a list or a CSV file, and files for spreadsheets."""

import csv
import io

import pytest

from tests.support.admissions import redeem
from ticketing.models.admissions import Admission

pytestmark = pytest.mark.one_database


@pytest.fixture
def ticket(acme):
    event = acme.event(timezone="Europe/Berlin", start_at="2031-06-01T18:00:00Z")
    return acme.ticket(event, name="Seat", price_amount=12_500_000, capacity=None)


@pytest.fixture
def path(ticket):
    return f"/console/events/{ticket['event_id']}/guests"


CSV = """\
Name;Email
"Ada Lovelace";ada@example.org

grace@example.org, Grace Hopper
Alan Turing
joan@example.org
"""


def test_the_lines_of_a_csv_file_become_guests(acme, writer, ticket, path):
    form = {"ticket_id": ticket["id"], "guests": CSV}
    checked = writer.send(path, {**form, "check": "on"})
    assert checked.status_code == 200 and "4 guests:" in checked.text
    assert "Grace Hopper" in checked.text and Admission.select().count() == 0
    assert writer.send(path, form).status_code == 200
    found = {(each.holder_name, each.holder_email) for each in Admission.select()}
    assert found == {
        ("Ada Lovelace", "ada@example.org"),
        ("Grace Hopper", "grace@example.org"),
        ("Alan Turing", None),
        (None, "joan@example.org"),
    }
    page = writer.get(path).text
    assert "Guests of this event" in page and "Alan Turing" in page


@pytest.mark.parametrize("separator", [",", ", ", ";", "\t"])
def test_a_name_in_quotes_may_have_a_comma(acme, writer, ticket, path, separator):
    guests = f'"Lovelace, Ada"{separator}ada@example.org\n"Hopper, ""Amazing"" Grace"'
    assert writer.send(path, {"ticket_id": ticket["id"], "guests": guests}).status_code == 200
    found = {(each.holder_name, each.holder_email) for each in Admission.select()}
    assert found == {
        ("Lovelace, Ada", "ada@example.org"),
        ('Hopper, "Amazing" Grace', None),
    }


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("Ada, ada@example.org\nBad Line, not-an-email\nX, a@b.c, plus", "2, 3"),
        ("Ada\n\nEve, eve@", "3"),
        ("Name,Email", "1"),
    ],
)
def test_wrong_lines_are_named_and_nobody_is_invited(acme, writer, ticket, path, text, lines):
    answer = writer.send(path, {"ticket_id": ticket["id"], "guests": text})
    assert answer.status_code == 422
    assert f"wrong name or email address: {lines}." in answer.text
    assert Admission.select().count() == 0


def _rows(answer):
    text = answer.data.decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def test_files_for_people_have_words_local_times_and_decimals(acme, writer, ticket, path):
    writer.send(path, {"ticket_id": ticket["id"], "guests": "Ada =1+1, ada@example.org"})
    redeem(Admission.get())
    Admission.update(
        redeemed_at=Admission.created_at.python_value("2031-06-01T17:30:00Z")
    ).execute()
    here = path.removesuffix("/guests")
    (row,) = _rows(writer.get(f"{here}/attendees-for-people.csv"))
    assert row == {
        "Name": "Ada =1+1",
        "Email": "ada@example.org",
        "Ticket": "Seat",
        "Price": "0.00",
        "Guest": "yes",
        "Status": "Valid",
        "Came in": "2031-06-01 19:30",
        "Gate": "",
    }
    acme.buyer(ticket, buyer={"name": "Bob", "email": "bob@example.org"}, quantity=2)
    (row,) = _rows(writer.get(f"{here}/orders-for-people.csv"))
    assert (row["Name"], row["Tickets"], row["Price"]) == ("Bob", "2 x Seat", "25.00")
    assert row["Status"] == "Waiting for payment" and len(row["Ordered"]) == 16
    assert "attendees-for-people.csv" in writer.get(here).text
