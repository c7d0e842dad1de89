"""An organizer in a real browser, from the one-time link to a sold-out event."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.support.buying import PATIENCE
from tests.support.console import PASSWORD
from tests.support.databases import only_once
from tests.support.factories import new_xpub
from tools.headless import DESKTOP, PHONE

pytestmark = only_once


@pytest.fixture
def console(stack, node, visit):
    """A console on a desk, opened by the link that `tenants create` prints."""
    stack.start_worker()
    made = stack.flask("tenants", "create", "harbour", "--name", "Harbour Nights", "--json")
    page = visit(stack.url, **DESKTOP)
    page.goto(json.loads(made)["first_sign_in"])
    return page


def next_step(page):
    """Follow the first of the first steps that is left."""
    page.get_by_role("link", name="Overview").click()
    page.locator(".steps li:not(.done) a").first.click()


def test_an_organizer_sells_out_without_a_terminal(console, stack, node, visit):
    page = console
    page.get_by_label("Email").fill("ada@example.org")
    page.get_by_label("New password").fill(PASSWORD)
    page.get_by_role("button", name="Set the password and sign in").click()

    next_step(page)
    page.get_by_text("Another way").click()
    page.get_by_label("Extended public key").fill(new_xpub())
    page.get_by_role("button", name="Go on").last.click()
    expect(page.get_by_role("heading", name="Is this the first address")).to_be_visible()
    page.get_by_role("button", name="Yes, it is the same").click()

    next_step(page)
    page.get_by_label("Title").fill("Songs from the Harbour")
    page.get_by_label("Time zone").fill("Europe/Berlin")
    page.get_by_label("Begins").fill("2031-06-01T19:30")
    page.get_by_role("button", name="Create as a draft").click()

    next_step(page)
    page.get_by_label("Name").fill("Standing")
    page.get_by_label("Price in USDC").fill("12.50")
    page.get_by_label("Network").select_option("Local")
    page.get_by_label("Capacity").fill("1")
    page.get_by_role("button", name="Create as a draft").click()

    next_step(page)
    page.get_by_role("button", name="Publish").click()
    next_step(page)
    page.get_by_role("button", name="Publish").click()
    expect(page.get_by_text("On sale at")).to_be_visible()

    page.get_by_role("link", name="Overview").click()
    path = page.locator(".steps li:not(.done) a").first.get_attribute("href")
    buyer = visit(stack.url, **PHONE)
    buyer.goto(path)
    expect(buyer.get_by_text("Sunday, 1 June 2031, 19:30 (Europe/Berlin)")).to_be_visible()
    buyer.get_by_role("button", name="Order").click()
    buyer.get_by_role("button", name="Pay from the demo wallet").click()
    expect(buyer.get_by_role("status")).to_have_text("Paid", timeout=PATIENCE)

    page.get_by_role("link", name="Orders").click()
    page.get_by_role("row").filter(has_text="12.50 USDC").get_by_role("link").first.click()
    expect(page.get_by_text(re.compile("0x[0-9a-f]{6,}"))).not_to_have_count(0)
    page.get_by_role("link", name="Overview").click()
    expect(page.locator(".steps")).to_have_count(0)
    page.get_by_role("link", name="Songs from the Harbour").first.click()
    expect(page.get_by_text("sold out").first).to_be_visible()
    buyer.goto(path)
    expect(buyer.get_by_text("Sold out", exact=True)).to_be_visible()
