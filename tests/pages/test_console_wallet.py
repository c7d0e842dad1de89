"""Where the money goes, in a real browser: an address, its comparison and the recovery file."""

import json

import pytest
from playwright.sync_api import expect

from tests.support.console import PASSWORD
from tests.support.databases import only_once
from tools.headless import DESKTOP

EMAIL = "ada@example.org"
OWNER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
PHRASE = "test " * 11 + "junk"

pytestmark = only_once


@pytest.fixture
def page(stack, remote, visit):
    """The page of the wallet, of an administrator who has signed in."""
    tenant = remote.path.rpartition("/")[2]
    member = ("members", "add", tenant, EMAIL, "--role", "admin", "--password-stdin")
    stack.flask(*member, stdin=f"{PASSWORD}\n")
    page = visit(stack.url, **DESKTOP)
    page.goto("/console/sign-in?next=/console/wallet")
    page.get_by_label("Email").fill(EMAIL)
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Where your money goes")).to_be_visible()
    return page


def test_an_organizer_sets_an_address_and_saves_the_recovery_file(page, remote, visit):
    visit.expect("status of 422")
    page.get_by_label("Address", exact=True).fill(PHRASE)
    page.get_by_role("button", name="Go on").first.click()
    expect(page.get_by_text("This is your secret phrase.")).to_be_visible()
    assert PHRASE not in page.content()

    page.get_by_label("Address", exact=True).fill(OWNER.lower())
    page.get_by_label("Local").check()
    page.get_by_role("button", name="Go on").first.click()
    expect(page.get_by_role("heading", name="Is this your address?")).to_be_visible()
    assert page.locator(".chain-address").first.text_content().strip() == OWNER
    page.get_by_role("button", name="Yes, it is the same").click()
    expect(page.get_by_text("Saved. New orders are paid to this wallet.")).to_be_visible()

    page.get_by_label("Your password").fill(PASSWORD)
    with page.expect_download() as started:
        page.get_by_role("button", name="Save the recovery file").click()
    file = json.loads(started.value.path().read_text())
    assert file["wallets"][0]["owner"] == OWNER
    wallet = remote.send("GET", f"{remote.path}/wallet").json
    assert (wallet["address"], wallet["warnings"]) == (OWNER, [])
