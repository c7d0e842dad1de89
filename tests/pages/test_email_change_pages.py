"""Another email address of an order, in a real browser: set in the console, put back by a mail."""

import re
from email.message import EmailMessage

import pytest
from playwright.sync_api import expect

from tests.support.browser import axe
from tests.support.databases import only_once
from tests.support.mail_server import MailServer
from tests.support.mails import SENDER, text_of
from tests.support.money import Shop
from tests.support.remote import eventually
from tools.headless import DESKTOP, PHONE

pytestmark = only_once

ADA, NEW = "ada@example.org", "insider@example.org"
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture
def server(starts_processes):
    with MailServer() as running:
        yield running


@pytest.fixture
def variables(variables, server):
    return {**variables, "SMTP_URL": server.url, "MAIL_FROM": SENDER}


def looks_right(page, name):
    assert axe(page) == [], name
    for size in (PHONE["viewport"], DESKTOP["viewport"]):
        page.set_viewport_size(size)
        assert page.evaluate(OVERFLOW) <= 0, (name, size)


def arrives(server: MailServer, recipient: str, said: str) -> EmailMessage:
    """Wait for a mail. Return it."""

    def found() -> list[EmailMessage]:
        return [
            each for each in server.mails if each["To"] == recipient and said in each["Subject"]
        ]

    eventually(lambda: bool(found()))
    return found()[0]


def change_in_console(page, order_id, email, *, ends_links=False):
    page.goto(f"/console/orders/{order_id}")
    page.get_by_label("Email", exact=True).fill(email)
    page.get_by_label("End the old links of this order").set_checked(ends_links)
    page.get_by_role("button", name="Send the mail again").click()
    expect(page.locator("#sent-again")).to_be_visible()


def test_an_address_goes_back_without_javascript_and_the_link_ends(stack, node, visit, server):
    shop = Shop(stack, node, visit)
    ticket = shop.remote.ticket(price_amount=0, chain_id=None)
    order = shop.remote.preflight(ticket, buyer={"email": ADA, "name": "Ada"}).json
    assert shop.remote.purchase(order).status == 200
    console = shop.console(role="admin")
    console.goto(f"/console/orders/{order['id']}")
    looks_right(console, "the order in the console")

    change_in_console(console, order["id"], NEW)
    told = text_of(arrives(server, ADA, "now go to another address"))
    assert NEW not in told
    plain = visit(stack.url, **PHONE, java_script_enabled=False)
    plain.goto(re.search(r"http\S+/_m/\S+", told)[0])
    expect(plain.get_by_role("heading")).to_have_text("Did you change the address?")
    plain.get_by_role("button", name="This wasn\N{RIGHT SINGLE QUOTATION MARK}t me").click()
    expect(plain.get_by_role("heading")).to_have_text("Your address is back")
    seen = visit(stack.url, **PHONE)
    seen.goto(plain.url)
    looks_right(seen, "the address is back")
    assert shop.remote.intent(order)["buyer"]["email"] == ADA

    change_in_console(console, order["id"], NEW, ends_links=True)
    arrives(server, ADA, "The link of your order has ended")
    new_links = re.compile(rf"{stack.url}/o/\S+\.cs_1_\S+")
    eventually(lambda: any(new_links.search(text_of(each)) for each in server.mails))
    (new_link, *_) = new_links.findall("\n".join(map(text_of, server.mails)))
    visit.expect("404")
    old = visit(stack.url, **PHONE)
    old.goto(f"/o/{order['id']}.{order['client_secret']}")
    expect(old.locator("main")).to_contain_text("This link has ended.")
    old.goto(new_link)
    expect(old.locator("main")).to_contain_text(NEW)
