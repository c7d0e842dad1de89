"""Unlisted events: in no list of any surface. Their id, slug and pages work."""

import pytest

from tests.support.console import sign_in
from tests.support.mcp import call


@pytest.fixture
def unlisted(acme):
    """A published event that is unlisted, with a free ticket type. A public one is beside it."""
    acme.event(title="Open Air", status="published")
    event = acme.event(title="Secret Gig", visibility="unlisted", status="published")
    acme.ticket(event, name="Seat", price_amount=0, chain_id=None, status="published")
    return event


@pytest.mark.sql
def test_it_is_in_no_list(acme, api, unlisted):
    lists = {
        "the organizer's page": api.get("/acme").text,
        "the page of the only tenant": api.get("/").text,
        "the API": api.get(f"{acme.public}/events").text,
        "MCP": str(call(api, "list_events", tenant="acme")),
    }
    for name, shown in lists.items():
        assert "Open Air" in shown and "Secret Gig" not in shown, name
    assert "Secret Gig" not in api.get("/llms.txt").text


def test_its_id_its_slug_and_its_link_work(acme, api, unlisted):
    for reference in (unlisted["id"], unlisted["slug"]):
        found = api.get(f"{acme.public}/events/{reference}")
        assert (found.status_code, found.json["title"]) == (200, "Secret Gig")
        assert api.get(f"{acme.public}/events/{reference}/tickets").json["data"]
        assert api.get(f"{acme.public}/events/{reference}.ics").status_code == 200
    assert call(api, "get_event", tenant="acme", event_id=unlisted["id"])["title"] == "Secret Gig"
    assert "Seat" in api.get("/acme/secret-gig").text


def test_search_engines_leave_its_page_out(acme, api, unlisted):
    for _ in range(2):  # the second answer is the cached one
        page = api.get("/acme/secret-gig")
        assert page.headers["X-Robots-Tag"] == "noindex" and "ld+json" not in page.text
    open_one = api.get("/acme/open-air")
    assert "X-Robots-Tag" not in open_one.headers and "ld+json" in open_one.text
    canceled = acme.api().post(
        f"{acme.path}/events/{unlisted['id']}/status", {"status": "canceled"}
    )
    assert canceled.status_code == 200
    page = api.get("/acme/secret-gig")
    assert page.headers["X-Robots-Tag"] == "noindex" and "ld+json" not in page.text


def test_an_organizer_lists_it_and_takes_it_out_again(acme, api, unlisted):
    path = f"{acme.path}/events/{unlisted['id']}"
    for visibility, is_listed in (("public", True), ("unlisted", False)):
        changed = acme.api().patch(path, {"visibility": visibility})
        assert changed.json["visibility"] == visibility
        assert ("Secret Gig" in api.get(f"{acme.public}/events").text) is is_listed
        assert ("X-Robots-Tag" in api.get("/acme/secret-gig").headers) is not is_listed
    listed = acme.api().get(f"{acme.path}/events").json["data"]
    assert "Secret Gig" in [each["title"] for each in listed]


def test_the_console_says_who_finds_it_and_changes_that(acme, api, unlisted):
    console = sign_in(acme)
    path = f"/console/events/{unlisted['id']}"
    assert "Only people who have the link" in console.client.get(path).text
    form = console.client.get(f"{path}/edit").text
    assert '<option value="unlisted" selected>' in form
    assert console.send(f"{path}/edit", {"visibility": "public"}).status_code == 303
    assert "Secret Gig" in api.get("/acme").text
