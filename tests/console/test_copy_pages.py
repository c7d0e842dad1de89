"""The console's page that copies an event, and the text of a series."""

import pytest

from tests.support.factories import in_days

pytestmark = pytest.mark.one_database


@pytest.fixture
def quiz(acme):
    """An event with a ticket type, on 31 January at 20:00 in Berlin."""
    event = acme.event(title="Quiz", start_at="2031-01-31T19:00:00Z")
    acme.ticket(event, price_amount=0, chain_id=None)
    return event


@pytest.fixture
def path(quiz):
    return f"/console/events/{quiz['id']}/copy"


def _starts(page):
    return [each.split('"')[0] for each in page.split('name="starts" value="')[1:]]


def _events(acme):
    return acme.api().get(f"{acme.path}/events?sort=created_at").json["data"]


def test_one_press_duplicates_an_event_a_week_later(acme, writer, path):
    page = writer.get(path).text
    assert 'value="2031-02-07T20:00"' in page
    fields = {"first": "2031-02-07T20:00", "every": "once", "times": "1", "status": "draft"}
    made = writer.send(path, fields)
    assert made.status_code == 303, made.text
    copy = _events(acme)[-1]
    assert made.headers["Location"] == f"/console/events/{copy['id']}#copied"
    assert (copy["start_at"], copy["status"]) == ("2031-02-07T19:00:00Z", "draft")
    assert "This is the copy." in writer.get(made.headers["Location"].split("#")[0]).text
    again = writer.send(path, fields)
    assert again.headers["Location"] == made.headers["Location"]  # the same form, sent twice


@pytest.mark.parametrize(
    ("every", "dates"),
    [
        ("week", ["2031-01-31T20:00", "2031-02-07T20:00", "2031-02-14T20:00"]),
        ("two_weeks", ["2031-01-31T20:00", "2031-02-14T20:00", "2031-02-28T20:00"]),
        ("month", ["2031-01-31T20:00", "2031-02-28T20:00", "2031-03-31T20:00"]),
    ],
)
def test_a_rule_fills_in_dates_that_people_choose_from(acme, writer, path, every, dates):
    fields = {"first": "2031-01-31T20:00", "every": every, "times": "3", "series": "pub-quiz"}
    shown = writer.send(path, {**fields, "status": "published", "show": "on"})
    assert shown.status_code == 200 and _starts(shown.text) == dates
    assert 'value="pub-quiz"' in shown.text
    assert len(_events(acme)) == 1
    made = writer.send(path, {**fields, "status": "published", "starts": dates[1:]})
    assert made.headers["Location"].startswith("/console/events?")
    assert [each["series"] for each in _events(acme)] == ["pub-quiz"] * 3


def test_what_is_refused_is_shown_again_with_its_dates(acme, writer, path):
    fields = {"first": "2031-03-23T02:30", "every": "week", "times": "2", "status": "draft"}
    skipped = writer.send(path, {**fields, "starts": ["2031-03-23T02:30", "2031-03-30T02:30"]})
    assert skipped.status_code == 422
    assert "The clocks skip this time on that day." in skipped.text
    assert _starts(skipped.text) == ["2031-03-23T02:30", "2031-03-30T02:30"]
    for wrong in ({"first": "soon"}, {"times": "61"}, {"first": "9999-12-31T20:00"}):
        answer = writer.send(path, {**fields, **wrong, "show": "on"})
        assert answer.status_code == 422 and "field-error" in answer.text
    assert len(_events(acme)) == 1


def test_readers_cannot_copy(acme, reader, path):
    assert reader.get(path).status_code == 403
    assert reader.send(path, {"first": in_days(40)[:16]}).status_code == 403


def test_a_series_has_a_text(acme, api, writer, quiz, path):
    writer.send(path, {"first": "2031-02-07T20:00", "status": "published", "series": "pub-quiz"})
    assert 'href="/console/series/pub-quiz"' in writer.get(path.removesuffix("/copy")).text
    saved = writer.send("/console/series/pub-quiz", {"title": "Pub quiz", "description": "Six."})
    assert saved.status_code == 303
    assert 'value="Pub quiz"' in writer.get("/console/series/pub-quiz").text
    assert "Six." in api.get("/acme/pub-quiz").text
    entry = acme.api().get(f"{acme.path}/audit-log").json["data"][0]
    assert (entry["action"], entry["subject"]) == ("series_change_series", "pub-quiz")
    assert writer.get("/console/series/another").status_code == 404
