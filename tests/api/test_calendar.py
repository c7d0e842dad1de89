"""The calendar file of a published event: its properties, and how clients follow its changes."""

import pytest
from icalendar import Calendar

from tests.support.apps import new_app
from tests.support.factories import Api, Organizer, event_body
from ticketing.models.events import Event
from ticketing.services.catalog import calendars

pytestmark = pytest.mark.one_database

FIELDS = {
    "title": "Ada; Grace, \\ and\r\nEND:VEVENT\x07",
    "description": "Doors: seven.\nBring a friend; or two." + "é" * 500,
    "venue": "Hall 1, North",
    "start_at": "2030-06-01T18:00:00+02:00",
    "end_at": "2030-06-01T20:30:00Z",
    "timezone": "Europe/Berlin",
}


def fetch(api, organizer: Organizer, event, **headers):
    """Return the response and the event in its calendar."""
    answer = api.get(f"{organizer.public}/events/{event['id']}.ics", headers=headers)
    assert answer.status_code == 200, answer.json
    (shown,) = Calendar.from_ical(answer.data).events
    return answer, shown


def test_a_calendar_reads_the_event(acme, api):
    event = acme.event(**FIELDS)
    answer, shown = fetch(api, acme, event)
    assert answer.content_type == "text/calendar; charset=utf-8"
    assert shown["UID"] == event["id"]
    assert shown["SUMMARY"] == "Ada; Grace, \\ and\nEND:VEVENT"
    assert (shown["LOCATION"], shown["DESCRIPTION"]) == (FIELDS["venue"], FIELDS["description"])
    assert shown["STATUS"] == "CONFIRMED"
    for name, text in (("DTSTART", "20300601T160000Z"), ("DTEND", "20300601T203000Z")):
        assert shown[name].to_ical().decode() == text
        assert shown[name].params == {}


def test_its_lines_are_as_rfc_5545_wants_them(acme, api):
    answer, _ = fetch(api, acme, acme.event(**FIELDS))
    lines = answer.data.split(b"\r\n")
    assert lines[0] == b"BEGIN:VCALENDAR" and lines[-2:] == [b"END:VCALENDAR", b""]
    assert all(len(line) <= 75 for line in lines)
    assert not [byte for byte in answer.data if byte < 0x20 and byte not in b"\r\n"]
    assert b"\n" not in answer.data.replace(b"\r\n", b"")
    answer.data.decode()


def test_it_has_no_join_url_and_no_host(acme, api):
    url = "https://meet.example.org/secret-room"
    answer, shown = fetch(api, acme, acme.event(type="online", online_join_url=url))
    assert "secret-room" not in answer.text and "localhost" not in answer.text
    assert not {"URL", "DTEND", "DESCRIPTION"} & shown.keys()


def test_it_links_to_the_page_of_the_event(environ, acme):
    app = new_app({**environ, "PUBLIC_URL": "https://tickets.example.org"})
    _, shown = fetch(Api(app.test_client()), acme, acme.event(slug="launch"))
    assert shown["URL"] == "https://tickets.example.org/acme/launch"


def test_it_is_found_by_slug_and_by_the_tenants_id_too(acme, api):
    event = acme.event(slug="launch")
    by_id, _ = fetch(api, acme, event)
    for path in (f"{acme.public}/events/launch", f"/v1/public/tenants/{acme.id}/events/launch"):
        assert api.get(f"{path}.ics").data == by_id.data


def test_what_the_public_does_not_see_is_not_found(acme, neighbour, api):
    canceled = acme.event()
    assert api.get(f"{acme.public}/events/{canceled['id']}.ics").status_code == 200
    path = f"{acme.path}/events/{canceled['id']}/status"
    acme.api().post(path, {"status": "canceled"})
    hidden = [acme.event(status="draft"), canceled, neighbour.event()]
    for reference in [*(each["id"] for each in hidden), "none", "a.ics", "%00", "ü", "."]:
        answer = api.get(f"{acme.public}/events/{reference}.ics")
        assert (answer.status_code, answer.json["code"]) == (404, "not_found"), reference


@pytest.mark.parametrize("path", ["/events/launch", "/events/launch.ics"])
def test_an_unchanged_one_is_not_sent_again(acme, api, path):
    event = acme.event(slug="launch")
    path = acme.public + path
    tag = api.get(path).headers["ETag"]
    again = api.get(path, headers={"If-None-Match": tag})
    assert (again.status_code, again.data) == (304, b"")
    head = api.client.open(path, method="HEAD")
    assert (head.status_code, head.data, head.headers["ETag"]) == (200, b"", tag)
    assert head.content_type == api.get(path).content_type
    assert head.headers["Cache-Control"] == "public, max-age=0, must-revalidate"
    acme.api().patch(f"{acme.path}/events/{event['id']}", {"title": "Another"})
    answer = api.get(path, headers={"If-None-Match": tag})
    assert answer.status_code == 200 and "Another" in answer.text


def test_its_sequence_grows_with_each_change_and_its_uid_stays(acme, api):
    event = acme.event()
    _, first = fetch(api, acme, event)
    assert first["SEQUENCE"] == 0
    acme.api().patch(f"{acme.path}/events/{event['id']}", {"venue": "Hall 2"})
    _, second = fetch(api, acme, event)
    assert second["SEQUENCE"] > first["SEQUENCE"]
    assert second["UID"] == first["UID"]


@pytest.mark.parametrize(("status", "shown"), [("draft", "TENTATIVE"), ("canceled", "CANCELLED")])
def test_a_mail_may_show_an_event_that_the_public_does_not_see(acme, status, shown):
    made = acme.api().post(f"{acme.path}/events", event_body()).json
    if status == "canceled":
        acme.api().post(f"{acme.path}/events/{made['id']}/status", {"status": status})
    event = Event.get_by_id(made["id"])
    text = calendars.ics([(event, "https://tickets.example.org/e/launch-night")])
    (read,) = Calendar.from_ical(text).events
    assert read["STATUS"] == shown
    assert read["URL"] == "https://tickets.example.org/e/launch-night"


def test_the_example_of_the_document_is_one(acme, api):
    documented = Calendar.from_ical(calendars.EXAMPLE).events[0]
    _, shown = fetch(api, acme, acme.event(end_at="2099-01-01T00:00:00Z"))
    assert list(documented) == list(shown)
