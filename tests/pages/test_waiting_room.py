"""The page of somebody who waits, in a real browser: it goes on by itself, and says where it is."""

import pytest
from playwright.sync_api import expect

from tests.support.browser import axe
from tests.support.databases import only_once
from tools.headless import DESKTOP, PHONE

pytestmark = [pytest.mark.long, only_once]


@pytest.fixture
def seat(remote):
    """A free ticket type with few seats, so one turn of a network, whose waiting room is open."""
    made = remote.ticket(price_amount=0, chain_id=None, capacity=40)
    path = f"{remote.path}/events/{made['event_id']}"
    assert remote.send("PATCH", path, {"waiting_room": "on"}).status == 200
    return made


@pytest.fixture
def path(remote, seat):
    """The path of the event's page."""
    event = remote.send("GET", f"{remote.path}/events/{seat['event_id']}").json
    return f"{remote.public.removeprefix('/v1/public/tenants')}/{event['slug']}"


@pytest.mark.parametrize("options", [PHONE, DESKTOP], ids=["phone", "desktop"])
@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
def test_it_leads_to_the_form_by_itself(visit, stack, path, options, scripts):
    page = visit(stack.url, **options, java_script_enabled=scripts)
    page.goto(path)

    expect(page.get_by_role("heading", name="Your place: 1.")).to_be_visible()
    assert page.title().startswith("Your place: 1. It takes less than a minute.")
    if scripts:
        assert axe(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    expect(page.get_by_role("button", name="Order")).to_be_visible()


def test_news_are_said_to_screen_readers(visit, stack, path):
    first = visit(stack.url, **PHONE)
    first.goto(path)
    page = visit(stack.url, script="Date.now = () => performance.now() * 100;", **PHONE)
    page.goto(path)
    expect(first.get_by_role("button", name="Order")).to_be_visible()

    expect(page.get_by_role("status")).to_have_text("You are next.")
    expect(page.get_by_role("heading", name="You are next.")).to_be_visible()
