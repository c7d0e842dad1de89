"""What brings pages into the states of the screenshots: calls of the API, and clicks on a page."""

import random
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

from PIL import Image, ImageDraw
from playwright.sync_api import Page, expect

from tools import START_SECONDS, anvil
from tools.screenshots_shop import (
    CONFIRMATIONS,
    PRICE,
    SURPLUS,
    TENANT,
    Order,
    Shop,
    is_confirmed,
    is_owed,
)

HOLD_SECONDS = 900
PASSWORD = "correct horse battery"

_EARLIER = """
UPDATE payment_intents
SET confirmed_at = REPLACE(confirmed_at, DATE(confirmed_at), DATE(confirmed_at, ?)) WHERE id = ?
"""
_SOLD_THEN = """
UPDATE order_accounts
SET sold_at = (SELECT confirmed_at FROM payment_intents WHERE payment_intents.id = intent_id)
"""
_SOLD_PER_DAY = (3, 7, 4, 9, 2, 1, 6, 10, 8, 5, 2, 4)
"""The quantity of one order for each of the last days, today first."""

_GUESTS = [
    {"name": "Grace Hopper", "email": "grace@example.org"},
    {"name": "Radia Perlman"},
    {"name": "Barbara Liskov", "email": "barbara@example.org"},
]
_SECOND_TOKEN = f"chain_id={anvil.SECOND_CHAIN_ID}&token_address={anvil.TOKEN_ADDRESS}"
_SIDE, _MODULE, _MODULES = 480, 6, 41
_ROOM, _SCREEN, _DARK, _NO_COLOR = 46, 225, 24, 128

_weeks = count(step=2)


# Orders and tickets.


def payment_link(then: Callable[[Order], object], quantity: int = 1) -> Callable[[Shop], str]:
    """Return what opens the link for somebody else, after `then`."""

    def open_link(shop: Shop) -> str:
        order = shop.order(quantity)
        url = order.payment_url
        then(order)
        return url

    return open_link


def somebody_else(_: Shop, page: Page) -> None:
    """Ask for the link for somebody else."""
    page.get_by_text("Let somebody else pay").click()
    page.wait_for_load_state("networkidle")


def exchange(order: Order) -> str:
    """Choose to pay from an exchange."""
    return f"{order.after('hold').url}?way=exchange"


def payee_stated(order: Order) -> Order:
    """Say where a refund goes."""
    return order.after("refund-address", {"address": anvil.BUYER})


def refunded(shop: Shop) -> Order:
    """Pay back what was paid too much."""
    order = payee_stated(shop.overpaid())
    sent = anvil.transfer(shop.node.rpc, anvil.TOKEN_ADDRESS, anvil.BUYER, SURPLUS)
    shop.mine(CONFIRMATIONS)
    shop.change("POST", f"/refunds/{order.id}/settle", {"tx_hash": sent["transactionHash"]})
    return order


def receipt(shop: Shop) -> str:
    """Write a receipt for a company."""
    bill = {"name": "Lovelace Engines Ltd.", "address": "10 Downing Street\nLondon"}
    return f"{shop.overpaid().after('billing', bill | {'tax_id': 'GB123456789'}).url}/receipt"


def reversed_payment(shop: Shop) -> Order:
    """Let the chain drop the blocks of a payment."""
    order = shop.confirmed()
    shop.order()  # without an open order, the worker looks at the chain every 20 s
    shop.node.rpc("anvil_reorg", CONFIRMATIONS + 1, [])
    return order.wait(lambda it: it["status"] == "reversed")


def expired(shop: Shop) -> Order:
    """Let an order expire."""
    order = shop.order()
    shop.pass_time(2 * HOLD_SECONDS)
    return order.wait(lambda it: it["status"] == "expired")


def expired_owed(shop: Shop) -> Order:
    """Let an order expire that was paid in part."""
    order = shop.order()
    order.pay(SURPLUS)
    shop.pass_time(2 * HOLD_SECONDS)
    return order.wait(is_owed)


def ticket(shop: Shop) -> dict[str, str]:
    """Sell a ticket."""
    found: dict[str, str] = shop.confirmed().send("purchase")["admissions"][0]
    return found


def transfer(shop: Shop) -> tuple[str, str]:
    """Offer a ticket to somebody. Return its page, and the one of the offer."""
    # Another picture may have opened the doors, and so ended transfers.
    shop.change("PATCH", f"/events/{shop.event_id}", {"doors_open_at": None})
    sold = ticket(shop)
    path = f"{shop.checkout}/admissions/{sold['id']}/transfer"
    bearer = {"Authorization": f"Bearer {sold['code']}"}
    made = shop.client.send("POST", path, {"holder": {"name": "Grace Hopper"}}, bearer)
    return f"/t/{sold['code']}", str(made.json["url"])


# Money on the second network.


def asking_back(shop: Shop) -> str:
    """Open the form that asks for money back."""
    return f"{shop.partly_paid_elsewhere().url}?back={anvil.SECOND_CHAIN_ID}-{anvil.TOKEN_ADDRESS}"


def asked_back(shop: Shop) -> Order:
    """Ask for the money back."""
    payee = {"address": anvil.BUYER, "chain_id": anvil.SECOND_CHAIN_ID}
    return shop.partly_paid_elsewhere().after("refund-address", payee)


def moved(shop: Shop) -> Order:
    """Pay the order where the money is."""
    return shop.partly_paid_elsewhere().after("chain", {"chain_id": anvil.SECOND_CHAIN_ID})


def owed_elsewhere(shop: Shop) -> Order:
    """Pay the order on its own network as well."""
    return shop.partly_paid_elsewhere().paid(PRICE, is_confirmed)


def refund_elsewhere(shop: Shop) -> str:
    """Owe what was asked back."""
    return f"/console/refunds/{asked_back(shop).id}?{_SECOND_TOKEN}"


def pass_over(shop: Shop) -> str:
    """Doubt a refund that is owed on the second network."""
    doubted = f"payer={anvil.BUYER}&payment_id=0x{'5e' * 32}"
    return f"/console/refunds/{owed_elsewhere(shop).id}/pass-over?{doubted}"


# The console.


def with_sales(shop: Shop) -> str:
    """Sell some tickets on each of the last days."""
    orders = [shop.order(quantity) for quantity in _SOLD_PER_DAY]
    for order, quantity in zip(orders, _SOLD_PER_DAY, strict=True):
        order.pay(PRICE * quantity, blocks=0)
    shop.mine(CONFIRMATIONS)
    for order in orders:
        order.wait(is_confirmed)
    path = shop.stack.environ["DATABASE_URL"].removeprefix("sqlite:///")
    with sqlite3.connect(path, timeout=START_SECONDS) as rows:
        for days_ago, order in enumerate(orders):
            rows.execute(_EARLIER, (f"-{days_ago} days", order.id))
        rows.execute(_SOLD_THEN)
    return "/console"


def draft(shop: Shop) -> str:
    """Create an event that nobody can buy yet."""
    start = datetime.now(UTC) + timedelta(days=90)
    body = {"title": "Winter Session", "type": "hybrid", "timezone": "Europe/Berlin"}
    made = shop.change("POST", "/events", {**body, "start_at": start.isoformat()})
    return f"/console/events/{made['id']}"


def series(shop: Shop) -> str:
    """Put the event into a series with two more dates, which are others each time."""
    first = datetime(2027, 1, 8, 20, 0) + timedelta(weeks=next(_weeks))
    starts = [(first + timedelta(weeks=week)).isoformat() for week in (0, 1)]
    body = {"starts": starts, "series": "boiler-house", "status": "published"}
    shop.change("POST", f"/events/{shop.event_id}/copy", body)
    text = {"title": "Boiler House", "description": "Songs on Fridays, **two hours** each."}
    shop.change("PATCH", "/series/boiler-house", text)
    return "boiler-house"


def set_up_app(_: Shop, page: Page) -> None:
    """Show the key of a new app. Nothing counts until a code of it was typed."""
    page.get_by_text("Set up an app").click()
    page.locator("details[open]").get_by_label("Your password").fill(PASSWORD)
    page.get_by_role("button", name="Go on").click()
    page.get_by_role("heading", name="New app").wait_for()


def _guests(shop: Shop) -> list[str]:
    """Let guests have tickets. Return their codes."""
    path = f"/events/{shop.event_id}/tickets/{shop.seat_id}/admissions"
    made = shop.change("POST", path, {"holders": _GUESTS, "reason": "Press."})
    return [str(code) for code in made["codes"]]


def attendees(shop: Shop) -> str:
    """List the attendees of the event, with guests."""
    _guests(shop)
    return f"/console/attendees?event_id={shop.event_id}"


def choose_all(_: Shop, page: Page) -> None:
    """Choose all of a list."""
    page.get_by_role("button", name="With all of this page").click()


def owed_to_an_address(shop: Shop) -> str:
    """Owe something to a buyer who said where it goes."""
    payee_stated(shop.overpaid(2))
    return "/console/money/pay-back"


def small_refunds(shop: Shop) -> str:
    """Owe so little that it can be waived."""
    for _ in range(2):
        shop.overpaid(2)
    return "/console/refunds/waive?most=5"


def door(shop: Shop) -> str:
    """Let some guests in at two gates, and one of them twice by a phone that was offline."""
    at = datetime.now(UTC).isoformat(timespec="seconds")
    path = f"/events/{shop.event_id}"
    shop.change("PATCH", path, {"doors_open_at": at})
    codes = _guests(shop)
    for gate, scanned in (("North", codes[:2]), ("South", codes[1:2])):
        made = shop.change("POST", f"{path}/door-devices", {"name": "Phone", "gate": gate})
        pairing = {"pairing_code": made["pairing_code"]}
        paired: Any = shop.client.send("POST", "/v1/door/pair", pairing).json
        one = {"kind": "redeem", "at": at, "decided": "admitted"}
        scans = [{"nonce": str(uuid4()), "code": code, **one} for code in scanned]
        shop.client.send(
            "POST",
            f"/v1/door/tenants/{TENANT}{path}/scans",
            {"sent_at": at, "scans": scans, "unsynced": 2},
            {"Authorization": f"Bearer {paired['token']}"},
        )
    return f"/console{path}/door"


def person(shop: Shop) -> str:
    """Invite somebody for one event."""
    asked = {"email": "grace@northernlights.example", "role": "write"}
    made = shop.change("POST", "/members", {**asked, "event_ids": [shop.event_id]})
    return f"/console/people/{made['id']}"


def key(shop: Shop) -> str:
    """Create an API key."""
    made = shop.change("POST", "/apikeys", {"name": "Shop", "role": "paywall"})
    return f"/console/keys/{made['id']}"


def webhook(shop: Shop) -> str:
    """Create a webhook endpoint, and test it."""
    asked = {"url": "https://shop.example.org:8443/hooks/tickets", "types": ["intent.confirmed"]}
    made = shop.change("POST", "/webhooks", asked)
    shop.change("POST", f"/webhooks/{made['id']}/test")
    return f"/console/webhooks/{made['id']}"


# The scanner.


def write_picture(path: Path) -> None:
    """Write a video for Chromium's camera: a phone with a QR code that nobody can read."""
    draw = random.Random(1)
    picture = Image.new("L", (_SIDE, _SIDE))
    pen = ImageDraw.Draw(picture)
    for y in range(_SIDE):
        pen.line((0, y, _SIDE, y), fill=_ROOM + y // 16)
    edge = (_SIDE - _MODULE * _MODULES) // 2
    end = _SIDE - edge - 1
    pen.rectangle((edge - 24, edge - 60, end + 24, end + 60), fill=_SCREEN)
    for y in range(edge, end, _MODULE):
        for x in range(edge, end, _MODULE):
            if draw.random() < 0.5:
                pen.rectangle((x, y, x + _MODULE - 1, y + _MODULE - 1), fill=_DARK)
    frame = picture.tobytes() + bytes([_NO_COLOR]) * (_SIDE * _SIDE // 2)
    path.write_bytes(f"YUV4MPEG2 W{_SIDE} H{_SIDE} F5:1\n".encode() + b"FRAME\n" + frame)


def unpaired(_: Shop, page: Page) -> None:
    """Wait for the form of the pairing code."""
    expect(page.get_by_label("Pairing code")).to_be_visible()


def pair(shop: Shop, page: Page) -> list[dict[str, str]]:
    """Pair a phone for an event that begins in an hour. Return the tickets of two guests."""
    start = datetime.now(UTC) + timedelta(hours=1)
    event = shop.event("Songs from the Boiler House", start, venue="Altes Kesselhaus")
    balcony = shop.ticket_type(event["id"], name="Balcony", price_amount=0, capacity=60)
    phone = {"name": "Phone 3", "gate": "North", "show_names": True}
    device = shop.change("POST", f"/events/{event['id']}/door-devices", phone)
    orders = [shop.order(of=balcony, name=name) for name in ("Ada Lovelace", "Grace Hopper")]
    guests: list[dict[str, str]] = [each.send("purchase")["admissions"][0] for each in orders]
    page.get_by_label("Pairing code").fill(device["pairing_code"])
    page.get_by_role("button", name="Pair").click()
    for row in ("sync", "offline"):
        expect(page.locator(f"[data-check={row}]")).to_have_attribute("data-state", "good")
    expect(page.locator("#stats")).to_be_visible()
    return guests


def _start(shop: Shop, page: Page) -> list[dict[str, str]]:
    guests = pair(shop, page)
    page.get_by_role("button", name="Start scanning").click()
    return guests


def admitted(shop: Shop, page: Page) -> dict[str, str]:
    """Let a guest in, and return the ticket."""
    guest, _ = _start(shop, page)
    _scan(page, guest["qr"], "admitted")
    expect(page.locator("#outcome")).to_contain_text("The server agrees.")
    expect(page.locator("[data-show=counts]")).to_have_text("1 of 2 inside")
    return guest


def refused(shop: Shop, page: Page) -> None:
    """Let a guest in, then refuse the same ticket."""
    _scan(page, admitted(shop, page)["code"], "twice")


def offline(shop: Shop, page: Page) -> None:
    """Let two guests in without a network."""
    guests = _start(shop, page)
    page.context.set_offline(True)
    for guest in guests:
        _scan(page, guest["qr"], "admitted")
    expect(page.locator("#state")).to_have_text("Offline. 2 to send")


def _scan(page: Page, text: str, decision: str) -> None:
    page.get_by_label("Ticket code").fill(text)
    page.get_by_role("button", name="Check").click()
    expect(page.locator("#outcome")).to_have_attribute("data-decision", decision)
    expect(page.locator("#undo")).to_be_visible()
