"""The numbers of the order form in a real browser: steppers, the sum, errors, no JavaScript."""

import os
import re

import pytest
from playwright.sync_api import expect

from tests.support import buying
from tests.support.browser import axe
from tests.support.databases import only_once
from tests.support.factories import event_body, ticket_body
from tools.headless import DESKTOP, PHONE

pytestmark = only_once


@pytest.fixture
def shop(stack, remote, visit):
    """A function that opens an event with adults, children, shirts and a donation."""
    body = {**event_body(), "title": "Family Day", "carts": True, "status": "published"}
    event = remote.send("POST", f"{remote.path}/events", body).json
    for fields in (
        {"name": "Adult", "description": "From 14 years", "price_amount": 20_000_000},
        {"name": "Child", "price_amount": 7_500_000, "min_per_order": 2},
        {"name": "Shirt", "price_amount": 15_000_000, "admission": False, "capacity": 20},
        {"name": "Donation", "price_amount": 1_000_000, "free_price": True, "admission": False},
    ):
        body = {**ticket_body(), "status": "published", **fields}
        made = remote.send("POST", f"{remote.path}/events/{event['id']}/tickets", body)
        assert made.status == 201, made.json
    path = buying.event_path(remote, made.json)

    def opened(**options):
        page = visit(stack.url, **options)
        page.goto(path)
        return page

    return opened


def number(page, name):
    return page.get_by_role("spinbutton", name=name, exact=True)


def picture(page, name):
    if "PICTURES" in os.environ:
        page.screenshot(path=f"{os.environ['PICTURES']}/{name}.png", full_page=True)


def order_button(page, text):
    return page.get_by_role("button", name=text, exact=True)


@pytest.mark.parametrize("options", [PHONE, DESKTOP], ids=["phone", "desk"])
def test_steppers_count_and_the_button_says_the_sum(shop, options):
    page = shop(**options)
    expect(order_button(page, "Order")).to_be_visible()
    page.get_by_role("button", name="More: Adult").click()
    page.get_by_role("button", name="More: Adult").click()
    expect(order_button(page, "Order 2 for 40.00 USDC")).to_be_visible()
    fewer = page.get_by_role("button", name="Fewer: Child")
    expect(fewer).to_be_disabled()
    page.get_by_role("button", name="More: Child").press("Enter")
    expect(number(page, "Child")).to_have_value("2")
    fewer.press("Space")
    expect(number(page, "Child")).to_have_value("0")
    number(page, "Child").fill("3")
    page.get_by_label("Your price for one Donation").fill("2.5")
    number(page, "Donation").fill("1")
    expect(order_button(page, "Order 6 for 65.00 USDC")).to_be_visible()
    picture(page, f"cart-{page.viewport_size['width']}")
    assert axe(page) == []
    order_button(page, "Order 6 for 65.00 USDC").click()
    page.wait_for_url("**/o/*")
    expect(page.get_by_text("65.00").first).to_be_visible()
    picture(page, f"cart-pay-{page.viewport_size['width']}")
    page.go_back()
    expect(order_button(page, "Order 6 for 65.00 USDC")).to_be_visible()


def test_without_javascript_numbers_are_fields_and_an_error_is_in_view(shop, visit):
    visit.expect("status of 409")
    page = shop(java_script_enabled=False, **PHONE)
    assert page.locator(".stepper").count() == 0
    number(page, "Adult").fill("1")
    number(page, "Child").fill("1")
    picture(page, "cart-no-script")
    order_button(page, "Order").click()
    child = number(page, "Child")
    expect(child).to_have_attribute("aria-invalid", "true")
    error = page.get_by_text("Order at least 2 of it.")
    expect(error).to_be_in_viewport()
    expect(child).to_be_focused()
    assert re.search("-error", child.get_attribute("aria-describedby"))
    picture(page, "cart-refused-no-script")
    child.fill("2")
    order_button(page, "Order").click()
    page.wait_for_url("**/o/*")
