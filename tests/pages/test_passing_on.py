"""A ticket in a real browser: passed on by its link, shown at the door, printed."""

import re

import pytest
from playwright.sync_api import expect

from tests.support.browser import axe
from tests.support.databases import only_once
from tests.support.screen import scanned
from ticketing import clock
from ticketing.db.connection import database, open_database
from ticketing.models.admissions import Admission
from ticketing.models.events import Event
from ticketing.models.ticket_types import TicketType
from tools.headless import DESKTOP, PHONE

pytestmark = only_once

MOST_TABS = 30
LONG = "Donaudampfschifffahrtsgesellschaft" * 5
WAKE_LOCK = """
window.asked = [];
Object.defineProperty(navigator, "wakeLock", { value: {
    request: kind => { asked.push(kind); return Promise.reject(new Error("refused")); },
} });
"""


class Shop:
    """Tickets of a server in other processes."""

    def __init__(self, stack, remote, ticket):
        self.stack, self.remote, self.ticket = stack, remote, ticket

    def sell(self):
        """Return the admission of a new order, as its buyer sees it."""
        buyer = {"name": "Ada", "email": "ada@example.org"}
        order = self.remote.preflight(self.ticket, buyer=buyer).json
        (admission,) = self.remote.purchase(order).json["admissions"]
        return admission

    def offer(self, admission):
        """Return the path that accepts a new offer."""
        path = f"{self.remote.checkout}/admissions/{admission['id']}/transfer"
        headers = {"Authorization": f"Bearer {admission['code']}"}
        answer = self.remote.client.send("POST", path, {"holder": {"name": LONG}}, headers)
        return f"/x/{answer.json['offer']}"

    def void(self, admission):
        """Take the ticket back, as its organizer."""
        path = f"{self.remote.path}/admissions/{admission['id']}/void"
        answer = self.remote.send("POST", path, {"reason": "Asked for.", "refund": False})
        assert answer.status == 200

    def write(self, model, row_id, **columns):
        """Change a row, as another part of the service would."""
        open_database(self.stack.database_url)
        assert model.update(columns).where(model.id == row_id).execute() == 1
        database.close()


@pytest.fixture
def shop(stack, remote):
    return Shop(stack, remote, remote.ticket(price_amount=0, chain_id=None, capacity=None))


def tab_to(page, found):
    """Press Tab until this element has the focus."""
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if found.evaluate("each => each === document.activeElement"):
            return
    raise AssertionError(f"the keyboard does not reach {found}")


@pytest.mark.parametrize("script", [True, False], ids=["js", "no js"])
def test_a_ticket_is_passed_on_by_its_link(visit, stack, shop, script):
    admission = shop.sell()
    seller, friend = (visit(stack.url, **PHONE, java_script_enabled=script) for _ in range(2))
    seller.goto(f"/t/{admission['code']}")
    expect(seller.get_by_label("For whom")).to_be_hidden()
    seller.locator("#passing-on summary").click()
    seller.get_by_label("For whom").fill("Grace")
    seller.get_by_role("button", name="Make a link to pass it on").click()
    expect(seller.get_by_text("Offered to Grace until")).to_be_visible()
    link = seller.locator("#offer-link").inner_text()
    assert link.startswith(f"{stack.url}/x/to_")

    friend.goto(link)
    expect(friend.get_by_text("the buyer of the order, not to you")).to_be_visible()
    friend.get_by_label("Your name").fill("Grace")
    friend.get_by_role("button", name="Accept the ticket").click()
    expect(friend.get_by_text("Grace", exact=True)).to_be_visible()
    assert re.fullmatch(rf"{stack.url}/t/\w{{20}}", friend.url)
    assert friend.url != seller.url.partition("#")[0]

    visit.expect("status of 404")
    seller.reload()
    expect(seller.get_by_role("heading", name="This ticket was passed on")).to_be_visible()
    friend.go_back()
    friend.reload()
    expect(friend.get_by_role("heading", name="This offer has ended")).to_be_visible()
    visit.expect("status of 410")


def test_the_keyboard_is_enough(visit, stack, shop):
    admission = shop.sell()
    seller, friend = (visit(stack.url, **DESKTOP) for _ in range(2))
    seller.goto(f"/t/{admission['code']}")
    tab_to(seller, seller.locator("summary", has_text="Change the name"))
    seller.keyboard.press("Enter")
    tab_to(seller, seller.get_by_label("Name"))
    seller.keyboard.press("ControlOrMeta+a")
    seller.keyboard.type("Lovelace")
    seller.keyboard.press("Enter")
    expect(seller.get_by_text("Lovelace", exact=True)).to_be_visible()
    tab_to(seller, seller.locator("#passing-on summary"))
    seller.keyboard.press("Enter")
    tab_to(seller, seller.get_by_label("For whom"))
    seller.keyboard.type("Grace")
    seller.keyboard.press("Enter")
    expect(seller.get_by_text("Offered to Grace until")).to_be_visible()
    link = seller.locator("#offer-link").inner_text()
    tab_to(seller, seller.get_by_role("button", name="Take the offer back"))
    seller.keyboard.press("Enter")
    expect(seller.get_by_label("For whom")).to_be_visible()

    visit.expect("status of 410")
    friend.goto(link)
    expect(friend.get_by_role("heading", name="This offer has ended")).to_be_visible()
    friend.goto(shop.offer(admission))
    tab_to(friend, friend.get_by_label("Your name"))
    friend.keyboard.type("Grace")
    friend.keyboard.press("Enter")
    expect(friend.get_by_text("Grace", exact=True)).to_be_visible()


@pytest.mark.parametrize(
    ("size", "scheme"), [(PHONE, "light"), (DESKTOP, "dark")], ids=["phone light", "desk dark"]
)
def test_a_scanner_reads_the_qr_code_from_the_screen(visit, stack, shop, scheme, size):
    admission = shop.sell()
    page = visit(stack.url, **size, color_scheme=scheme)
    page.goto(f"/t/{admission['code']}")
    shown = page.get_by_role("img", name="The QR code of this ticket")
    assert scanned(shown) == [admission["qr"]]
    width = shown.locator("svg").bounding_box()["width"]
    assert width >= 0.6 * min(size["viewport"]["width"], 480)


def test_every_state_is_accessible_and_fits_a_small_screen(visit, stack, shop):
    visit.expect("status of 410")
    visit.expect("status of 409")
    shop.write(Event, shop.ticket["event_id"], title=LONG, venue=LONG)
    valid, offered, fixed = (shop.sell() for _ in range(3))
    path, old = f"/t/{valid['code']}", shop.offer(offered)
    new = shop.offer(offered)
    pages = [
        visit(stack.url, viewport={"width": 320, "height": 640}, color_scheme=scheme)
        for scheme in ("light", "dark")
    ]

    def check(*paths):
        for page in pages:
            for each in paths:
                page.goto(each)
                assert axe(page) == [], each
                assert page.evaluate("document.documentElement.scrollWidth") == 320, each

    check(path, f"/t/{offered['code']}", old, new)
    for page in pages:
        page.goto(path)
        page.get_by_text("Change the name on the ticket").click()
        assert axe(page) == []
    shop.write(TicketType, shop.ticket["id"], transferable=False)
    check(f"/t/{fixed['code']}", new)
    shop.write(Admission, fixed["id"], redeemed_at=clock.now(), redeemed_gate=LONG)
    shop.write(Admission, offered["id"], status="suspended")
    shop.void(valid)
    check(f"/t/{fixed['code']}", f"/t/{offered['code']}", path)
    # The books are proved at the end, and nothing has suspended it.
    shop.write(Admission, offered["id"], status="valid")


@pytest.mark.parametrize("text", ["Night", LONG], ids=["usual", "long"])
def test_a_ticket_is_printed_on_one_sheet_black_on_white(visit, stack, shop, text):
    shop.write(Event, shop.ticket["event_id"], title=text, venue=text)
    shop.write(TicketType, shop.ticket["id"], name=text)
    admission = shop.sell()
    page = visit(stack.url, color_scheme="dark")
    page.goto(f"/t/{admission['code']}")
    assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4"))) == 1
    page.emulate_media(media="print")
    assert scanned(page.locator(".ticket-qr")) == [admission["qr"]]
    assert page.get_by_role("button").count() == 0
    assert not page.get_by_text("Everybody who has the link").is_visible()
    for name, colour in (("color", "rgb(0, 0, 0)"), ("backgroundColor", "rgb(255, 255, 255)")):
        assert page.evaluate(f"getComputedStyle(document.body).{name}") == colour


def test_the_link_of_an_offer_is_copied(visit, stack, shop):
    admission = shop.sell()
    link = stack.url + shop.offer(admission)
    page = visit(stack.url, permissions=["clipboard-read", "clipboard-write"])
    page.goto(f"/t/{admission['code']}")
    page.get_by_role("button", name="Copy the link").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    expect(page.get_by_role("status")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == link


def test_the_screen_stays_on_while_the_qr_code_is_shown(visit, stack, shop):
    admission = shop.sell()
    page = visit(stack.url, script=WAKE_LOCK)
    page.goto(f"/t/{admission['code']}")
    expect(page.get_by_role("button", name="Print")).to_be_visible()
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    assert page.evaluate("asked") == ["screen", "screen"]
    shop.void(admission)
    page.reload()
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    assert page.evaluate("asked") == []
