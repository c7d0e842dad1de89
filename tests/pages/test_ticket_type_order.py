"""The order of an event's ticket types, in a real Chromium: by keyboard, and by dragging."""

import pytest
from playwright.sync_api import expect

from tests.support.browser import axe
from tests.support.console import PASSWORD
from tests.support.factories import event_body
from tools.headless import DESKTOP


@pytest.fixture
def event(remote):
    """A published event with three free ticket types, two of them below one heading."""
    made = remote.send("POST", f"{remote.path}/events", {**event_body(), "status": "published"})
    for name, heading in (("Child", "Passes"), ("Adult", "Passes"), ("Shirt", None)):
        body = {"name": name, "price_amount": 0, "status": "published", "group_heading": heading}
        here = f"{remote.path}/events/{made.json['id']}/tickets"
        assert remote.send("POST", here, body).status == 201
    return made.json


def console_page(visit, stack, remote, event, **options):
    """Open the event's page in the console, as a member who may write."""
    asked = {"email": "ada@example.org", "role": "write"}
    invited = remote.send("POST", f"{remote.path}/members", asked).json
    page = visit(stack.url, **DESKTOP, **options)
    page.goto(invited["invitation_url"])
    page.get_by_label("New password").fill(PASSWORD)
    page.get_by_role("button").click()
    page.wait_for_url("**/console")
    page.goto(f"/console/events/{event['id']}")
    return page


def expect_order(page, *names):
    rows = page.locator("tbody[data-sortable] th a")
    expect(rows).to_have_text([*names])


def test_types_are_moved_by_keyboard_and_by_dragging(visit, stack, remote, event):
    page = console_page(visit, stack, remote, event)
    expect_order(page, "Child", "Adult", "Shirt")
    assert axe(page) == []
    page.get_by_role("button", name="Move Adult up").focus()
    page.keyboard.press("Enter")
    expect_order(page, "Adult", "Child", "Shirt")
    rows = page.locator("tbody[data-sortable] tr")
    rows.nth(2).drag_to(rows.nth(0))
    expect_order(page, "Shirt", "Adult", "Child")

    slug = remote.path.rsplit("/", 1)[1]
    page.goto(f"/{slug}/{event['slug']}")
    expect(page.locator(".type-name bdi")).to_have_text(["Shirt", "Adult", "Child"])
    expect(page.get_by_role("heading", name="Passes")).to_have_count(1)
    group = page.get_by_role("group", name="Passes")
    expect(group.get_by_role("radio")).to_have_count(2)
    assert axe(page) == []


def test_types_are_moved_without_javascript(visit, stack, remote, event):
    page = console_page(visit, stack, remote, event, java_script_enabled=False)
    page.get_by_role("button", name="Move Shirt up").click()
    expect_order(page, "Child", "Shirt", "Adult")
