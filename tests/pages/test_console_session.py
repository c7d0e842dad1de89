"""The console's session in a real browser: it ends with its member, and serves no other site."""

import pytest
from playwright.sync_api import expect

from tests.support.console import PASSWORD
from tests.support.databases import only_once
from tests.support.remote import in_process
from tools.headless import DESKTOP

EMAIL = "ada@example.org"
SETTINGS = "/console/settings"

pytestmark = only_once


@pytest.fixture
def signed_in(stack, remote, visit):
    """A browser in which an administrator has signed in, with the keyboard."""
    tenant = remote.path.rpartition("/")[2]
    member = ("members", "add", tenant, EMAIL, "--role", "admin", "--password-stdin")
    in_process(stack, *member, stdin=f"{PASSWORD}\n")
    page = visit(stack.url, **DESKTOP)
    page.goto(SETTINGS)
    page.get_by_label("Email").fill(EMAIL)
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Settings")).to_be_visible()
    return page


@pytest.mark.parametrize("other", ["http://other.example", "http://127.0.0.1:1"])
def test_a_form_of_another_site_changes_nothing(signed_in, stack, remote, visit, other):
    """Browsers send the cookie from another port of the same host."""
    visit.expect("status of 403")
    visit.expect("request to another host")
    form = f'<form method="post" action="{stack.url}{SETTINGS}"><input name="name" value="Mine">'
    page = f"<!doctype html>{form}<button>Win</button></form>"
    signed_in.route(f"{other}/", lambda route: route.fulfill(body=page, content_type="text/html"))
    signed_in.goto(f"{other}/")
    signed_in.get_by_role("button", name="Win").click()
    expect(signed_in.get_by_text("This form was not sent from this site.")).to_be_visible()
    assert remote.send("GET", remote.path).json["name"] != "Mine"


def test_a_disabled_member_is_signed_out_at_the_next_page(signed_in, stack, remote):
    in_process(stack, "members", "disable", remote.path.rpartition("/")[2], EMAIL)
    signed_in.get_by_label("Name").fill("Mine")
    signed_in.get_by_role("button", name="Save").click()
    expect(signed_in.get_by_role("heading", name="Sign in")).to_be_visible()
    assert remote.send("GET", remote.path).json["name"] != "Mine"
