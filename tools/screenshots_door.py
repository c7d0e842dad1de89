"""What people do on the scanner's page, for screenshots."""

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

from tools.screenshots_shop import Shop

_SIDE, _MODULE, _MODULES = 480, 6, 41
_ROOM, _SCREEN, _DARK, _NO_COLOR = 46, 225, 24, 128


def write_picture(path: Path) -> None:
    """Write a video for Chromium's camera: a phone with a QR code that nobody can read."""
    draw = random.Random(1)
    edge = (_SIDE - _MODULE * _MODULES) // 2
    rows = [bytearray([_ROOM + y // 16]) * _SIDE for y in range(_SIDE)]
    for y in range(edge - 60, edge + _MODULE * _MODULES + 60):
        rows[y][edge - 24 : _SIDE - edge + 24] = bytes([_SCREEN]) * (_SIDE - 2 * edge + 48)
    for y in range(_MODULES):
        for x in (x for x in range(_MODULES) if draw.random() < 0.5):
            for row in rows[edge + y * _MODULE : edge + (y + 1) * _MODULE]:
                row[edge + x * _MODULE : edge + (x + 1) * _MODULE] = bytes([_DARK]) * _MODULE
    picture = b"".join(rows) + bytes([_NO_COLOR]) * (_SIDE * _SIDE // 2)
    path.write_bytes(f"YUV4MPEG2 W{_SIDE} H{_SIDE} F5:1\n".encode() + b"FRAME\n" + picture)


def scanner_url(shop: Shop) -> str:
    """Return the URL of the page."""
    return f"{shop.stack.url}/door/"


def unpaired(_: Shop, page: Page) -> None:
    """Wait for the form of the pairing code."""
    expect(page.get_by_label("Pairing code")).to_be_visible()


def ready(shop: Shop, page: Page) -> None:
    """Show the overview of a phone that is ready."""
    _pair(shop, page)


def admitted(shop: Shop, page: Page) -> None:
    """Let a guest in."""
    guest, _ = _start(shop, page)
    _let_in(page, guest)


def refused(shop: Shop, page: Page) -> None:
    """Let a guest in, then refuse the same ticket."""
    guest, _ = _start(shop, page)
    _let_in(page, guest)
    _scan(page, guest["code"], "twice")


def offline(shop: Shop, page: Page) -> None:
    """Let two guests in without a network."""
    guests = _start(shop, page)
    page.context.set_offline(True)
    for guest in guests:
        _scan(page, guest["qr"], "admitted")
    expect(page.locator("#state")).to_have_text("Offline. 2 to send")


def _pair(shop: Shop, page: Page) -> list[dict[str, str]]:
    """Pair a phone for an event that begins in an hour. Return the tickets of two guests."""
    event = shop.change("POST", "/events", _event())
    path = f"/events/{event['id']}"
    ticket = shop.change("POST", f"{path}/tickets", _TICKET)
    device = shop.change("POST", f"{path}/door-devices", _DEVICE)
    guests = [_ticket(shop, ticket, name) for name in ("Ada Lovelace", "Grace Hopper")]
    page.get_by_label("Pairing code").fill(device["pairing_code"])
    page.get_by_role("button", name="Pair").click()
    for row in ("sync", "offline"):
        expect(page.locator(f"[data-check={row}]")).to_have_attribute("data-state", "good")
    expect(page.locator("#stats")).to_be_visible()
    return guests


def _start(shop: Shop, page: Page) -> list[dict[str, str]]:
    guests = _pair(shop, page)
    page.get_by_role("button", name="Start scanning").click()
    return guests


def _let_in(page: Page, guest: dict[str, str]) -> None:
    _scan(page, guest["qr"], "admitted")
    expect(page.locator("#outcome")).to_contain_text("The server agrees.")
    expect(page.locator("[data-show=counts]")).to_have_text("1 of 2 inside")


def _scan(page: Page, text: str, decision: str) -> None:
    page.get_by_label("Ticket code").fill(text)
    page.get_by_role("button", name="Check").click()
    expect(page.locator("#outcome")).to_have_attribute("data-decision", decision)
    expect(page.locator("#undo")).to_be_visible()


def _ticket(shop: Shop, ticket: dict[str, Any], name: str) -> dict[str, str]:
    buyer = {"name": name, "email": "ada@example.org"}
    body = {"event_id": ticket["event_id"], "ticket_id": ticket["id"], "buyer": buyer}
    intent = shop.client.send("POST", f"{shop.checkout}/preflight", body).json
    bearer = {"Authorization": f"Bearer {intent['client_secret']}"}
    path = f"{shop.checkout}/intents/{intent['id']}/purchase"
    found: dict[str, str] = shop.client.send("POST", path, None, bearer).json["admissions"][0]
    return found


def _event() -> dict[str, Any]:
    start = datetime.now(UTC) + timedelta(hours=1)
    return {
        "title": "Songs from the Boiler House",
        "type": "in_person",
        "venue": "Altes Kesselhaus",
        "start_at": start.isoformat(timespec="seconds"),
        "timezone": "Europe/Berlin",
        "status": "published",
    }


_TICKET = {"name": "Balcony", "price_amount": 0, "capacity": 60, "status": "published"}
_DEVICE = {"name": "Phone 3", "gate": "North", "show_names": True}
