"""Descriptions are converted once, when they are saved, within a number of steps."""

import pytest

from tests.support.factories import event_body
from ticketing import markdown
from ticketing.models.events import Event
from ticketing.models.series import Series
from ticketing.services.catalog import descriptions

ATTACKS = [
    *("  *\n:", "*\n", "*_", "> a\n- b\n", "- a\n", "a\n\n", "*a", "*\n:\n", "* a\n\n  b\n", "!["),
    *("1. + \n   + 1. ", "\\\n\n* 999999999. + + # ", ">\n- ", "://", "[a*"),
]
"""Parts of texts that took 20 to 270 ms."""

SIMPLE = "# Songs\n\n- **New** ones, see https://example.org/a_b\n- Old ones"


def of_length(part):
    return (part * 10_000)[:10_000]


@pytest.mark.one_database
@pytest.mark.parametrize("part", ATTACKS)
def test_a_text_that_takes_many_steps_is_refused_where_it_is_saved(acme, part):
    text = of_length(part)
    event = acme.event(series="weekly")
    for answer in (
        acme.api().post(f"{acme.path}/events", {**event_body(), "description": text}),
        acme.api().patch(f"{acme.path}/events/{event['id']}", {"description": text}),
        acme.api().patch(f"{acme.path}/series/weekly", {"description": text}),
    ):
        assert answer.status_code == 422, answer.text
        assert "Markdown" in str(answer.json["errors"]["description"])
    assert Event.select().count() == 1 and Series.select().count() == 0


@pytest.mark.one_database
@pytest.mark.parametrize("part", ATTACKS)
def test_the_parser_stops_after_its_steps(part):
    """It takes so many steps, whatever the machine does besides."""
    with pytest.raises(markdown.TooComplex):
        markdown.convert(of_length(part))
    # Where no HTML is stored, it is shown as it was typed.
    found = markdown.shown(of_length(part))
    assert found.plain == of_length(part) and found.html.count("<") < 10_100


def test_pages_show_what_was_converted_when_it_was_saved(acme, api, monkeypatch):
    event = acme.event(description=SIMPLE, series="weekly", status="published")
    changed = {"description": f"{SIMPLE}\n- Others"}
    assert acme.api().patch(f"{acme.path}/events/{event['id']}", changed).status_code == 200
    assert acme.api().patch(f"{acme.path}/series/weekly", changed).status_code == 200
    expected = markdown.convert(changed["description"])
    monkeypatch.setattr(markdown, "convert", None)
    for path in (event["slug"], "weekly"):
        page = api.get(f"/{acme.slug}/{path}")
        assert page.status_code == 200 and str(expected.html) in page.text
    calendar = api.get(f"{acme.public}/events/{event['id']}.ics")
    assert calendar.status_code == 200 and "Old ones" in calendar.text


def test_html_that_was_made_from_another_text_is_not_shown(acme, api):
    event = acme.event(description=SIMPLE, status="published")
    Event.update(description="**Later**").where(Event.id == event["id"]).execute()
    row = Event.get_by_id(event["id"])
    assert "<strong>Later</strong>" in descriptions.html(row)
    assert descriptions.plain(row) == "Later"
    assert "<strong>Later</strong>" in api.get(f"/{acme.slug}/{event['slug']}").text


@pytest.mark.one_database
def test_a_copy_has_the_same(acme):
    event = acme.event(description=SIMPLE)
    sent = {"starts": ["2031-01-01T20:00:00"]}
    copied = acme.api().post(f"{acme.path}/events/{event['id']}/copy", sent)
    assert copied.status_code == 201, copied.json
    html = {row.description_html for row in Event.select()}
    assert Event.select().count() == 2 and len(html) == 1 and None not in html


@pytest.mark.one_database
def test_another_field_of_a_complex_description_can_be_changed(acme):
    event = acme.event()
    Event.update(description=of_length("*_")).where(Event.id == event["id"]).execute()
    changed = {"title": "Another", "description": of_length("*_")}
    assert acme.api().patch(f"{acme.path}/events/{event['id']}", changed).status_code == 200
