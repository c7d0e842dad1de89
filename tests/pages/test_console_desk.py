"""The console's pages in a real Chromium: what is shown once, and counts that follow the door."""

import uuid
from datetime import UTC, datetime

import pytest
from playwright.sync_api import expect

from tests.support.browser import axe
from tests.support.console import PASSWORD
from tests.support.databases import only_once
from tests.support.factories import written
from tests.support.processes import new_seat

pytestmark = only_once


@pytest.fixture
def free(remote):
    """A ticket type of an event with its doors open."""
    made = new_seat(remote)
    body = {"doors_open_at": written(datetime.now(UTC).replace(microsecond=0))}
    assert remote.send("PATCH", f"{remote.path}/events/{made['event_id']}", body).status == 200
    return made


@pytest.fixture
def page(visit, stack, remote):
    """A browser in which an administrator has accepted an invitation."""
    asked = {"email": "ada@example.org", "role": "admin"}
    invited = remote.send("POST", f"{remote.path}/members", asked).json
    page = visit(stack.url)
    page.goto(invited["invitation_url"])
    page.get_by_label("New password").fill(PASSWORD)
    page.get_by_role("button").click()
    page.wait_for_url("**/console")
    return page


def test_a_pairing_code_is_shown_once_even_after_a_reload(page, free):
    page.goto(f"/console/events/{free['event_id']}/door")
    page.get_by_label("Name", exact=True).fill("Phone 3")
    page.get_by_role("button", name="Add the device").click()
    expect(page.get_by_role("img", name="QR code")).to_be_visible()
    code = page.locator(".link-to-copy").last.inner_text()
    assert axe(page) == []
    page.reload()  # Chromium sends the form again.
    expect(page.get_by_text("It is not shown again.")).to_be_visible()
    assert code not in page.content()
    page.get_by_role("link", name="Continue").click()
    expect(page.get_by_role("rowheader", name="Phone 3")).to_have_count(1)


def test_counts_follow_the_door_without_a_reload(page, remote, free):
    event = free["event_id"]
    page.goto(f"/console/events/{event}/door")
    inside = page.locator(".figures dd").first
    expect(inside).to_have_text("0")
    guests = f"{remote.path}/events/{event}/tickets/{free['id']}/admissions"
    code = remote.send("POST", guests, {"holders": [{"name": "Ada"}]}).json["codes"][0]
    now = written(datetime.now(UTC).replace(microsecond=0))
    scan = {"nonce": str(uuid.uuid4()), "kind": "redeem", "at": now, "code": code}
    slug = remote.path.rsplit("/", 1)[1]
    scans = f"/v1/door/tenants/{slug}/events/{event}/scans"
    answer = remote.send("POST", scans, {"sent_at": now, "scans": [scan]})
    assert answer.json["results"][0]["outcome"] == "admitted"
    expect(inside).to_have_text("1")
    expect(page.get_by_text("Came in")).to_be_visible()
