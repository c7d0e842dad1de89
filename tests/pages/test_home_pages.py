"""The pages of the service and of a tenant's events."""

import gzip
import re

import pytest

from tests.support.factories import in_days, new_organizer


def test_a_service_with_one_tenant_shows_its_events(acme, api):
    acme.event(title="Night", status="published")
    assert "Night" in api.get("/").text


def test_a_service_with_several_shows_where_to_go(app, acme, api):
    new_organizer(app, "other")
    acme.event(title="Night", status="published")
    page = api.get("/")
    assert "Night" not in page.text and 'href="/docs"' in page.text


def test_a_tenant_has_its_published_events_the_soonest_first(acme, api):
    for title, days, status in (("B", 3, "published"), ("A", 2, "published"), ("C", 1, "draft")):
        acme.event(title=f"Event {title}", start_at=in_days(days), status=status)
    text = api.get("/acme").text
    assert text.index("Event A") < text.index("Event B") and "Event C" not in text


def test_an_event_that_is_over_is_not_in_the_list(acme, api):
    for title, days in (("Yesterday", {"start_at": -2, "end_at": -1}), ("Over", {"start_at": -1})):
        acme.event(title=title, **{name: in_days(each) for name, each in days.items()})
    running = {"start_at": in_days(-2), "end_at": in_days(1)}
    acme.event(title="Running", **running)
    acme.event(title="Begun", start_at=in_days(-0.1))
    text = api.get("/acme").text
    assert "Running" in text and "Begun" in text
    assert "Yesterday" not in text and "Over" not in text


@pytest.mark.exhaustive
def test_more_than_a_hundred_events_have_a_second_page(acme, api):
    for number in range(101):
        acme.event(title=f"Event {number:03}", start_at=in_days(number + 1), status="published")
    first = api.get("/acme?utm_source=mail").text
    assert "Event 099" in first and "Event 100" not in first
    cursor = first.split("?cursor=")[1].split('"')[0]
    later = api.get(f"/acme?cursor={cursor}").text
    assert "Event 100" in later and "Event 099" not in later
    for wrong in ("wrong", "", "%C3%A9", "%00", "%FF", "%ED%A0%80", "x" * 3000):
        assert api.get(f"/acme?cursor={wrong}").status_code == 422, wrong


def test_it_has_the_name_the_color_and_the_addresses_of_the_tenant(acme, api):
    body = {
        "name": "Acme <Events>",
        "accent_color": "#7A1F5C",
        "contact_email": "hello@acme.example",
        "website": "https://acme.example/",
        "terms_url": "https://acme.example/terms",
        "privacy_url": "https://acme.example/privacy",
        "legal_address": "Acme\nMain Street 1",
    }
    assert acme.api().patch(acme.path, body).status_code == 200
    text = api.get("/acme").text
    for shown in ("Acme &lt;Events&gt;", "mailto:hello@acme.example", "acme.example/terms"):
        assert shown in text, shown
    path = re.search(r'"(/_accent/\w+/)7a1f5c.css"', text)[1]
    stylesheet = api.get(f"{path}7a1f5c.css")
    assert "--accent:#7a1f5c;--on-accent:#ffffff;" in stylesheet.text
    assert "prefers-color-scheme:dark" in stylesheet.text
    assert "immutable" in stylesheet.headers["Cache-Control"]
    for wrong in ("7a1f5", "7A1F5C", "zzzzzz", "7a1f5c}"):
        assert api.get(f"{path}{wrong}.css").status_code == 404


def test_files_are_kept_by_browsers_until_they_change(acme, api):
    path = api.get("/acme").text.split('rel="stylesheet" href="')[1].split('"')[0]
    version = path.split("/")[2]
    with api.get(path) as current, api.get(path.replace(version, "old")) as other:
        assert (current.status_code, current.mimetype) == (200, "text/css")
        assert "immutable" in current.headers["Cache-Control"]
        assert other.headers["Cache-Control"] == "no-cache"
    for wrong in ("none.css", "..%2Fdocs.js", "%00"):
        assert api.get(f"/_assets/{version}/{wrong}").status_code == 404


def test_stylesheets_and_scripts_are_compressed_for_who_can_read_that(acme, api):
    path = api.get("/acme").text.split('rel="stylesheet" href="')[1].split('"')[0]
    plain = api.get(path)
    packed = api.get(path, headers={"Accept-Encoding": "br, gzip"})
    assert gzip.decompress(packed.data) == plain.data and len(packed.data) * 2 < len(plain.data)
    assert packed.headers["Content-Encoding"] == "gzip" and "Content-Encoding" not in plain.headers
    assert packed.headers["Vary"] == plain.headers["Vary"] == "Accept-Encoding"
    assert packed.headers["ETag"] != plain.headers["ETag"]
    assert "Content-Encoding" not in api.get(path, headers={"Accept-Encoding": "gzip;q=0"}).headers
