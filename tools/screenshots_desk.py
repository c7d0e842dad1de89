"""The console's pages about sold tickets and about access, for screenshots."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from playwright.sync_api import Page

from tools import anvil
from tools.json_client import Client
from tools.screenshots_shop import CONFIRMATIONS, PRICE, TENANT, Shop, Shot

_CONSOLE = "/console"
_GUESTS = [
    {"name": "Grace Hopper", "email": "grace@example.org"},
    {"name": "Radia Perlman"},
    {"name": "Barbara Liskov", "email": "barbara@example.org"},
]


def _shot(name: str, path: Callable[[Shop], str], **more: Any) -> Shot:
    return Shot(
        f"console-{name}",
        lambda shop: shop.stack.url + _CONSOLE + path(shop),
        is_signed_in=True,
        **more,
    )


def _event(shop: Shop, page: str) -> str:
    return f"/events/{shop.event_id}/{page}"


def _with_guests(shop: Shop) -> list[str]:
    path = f"/events/{shop.event_id}/tickets/{shop.ticket_ids[1]}/admissions"
    made = shop.change("POST", path, {"holders": _GUESTS, "reason": "Press."})
    return [str(code) for code in made["codes"]]


def _attendees(shop: Shop) -> str:
    _with_guests(shop)
    return f"/attendees?event_id={shop.event_id}"


def _press_all(_shop: Shop, page: Page) -> None:
    page.get_by_role("button", name="With all of this page").click()


def _attendee(shop: Shop) -> str:
    return f"/attendees/{shop.paid().send('purchase')['admissions'][0]['id']}"


def _overpaid(shop: Shop) -> str:
    order = shop.order(2)
    order.pay(2 * PRICE + 4_990_000, blocks=CONFIRMATIONS)
    return order.wait(lambda it: it["refund_due"] and not it["refund_pending"]).id


def _owed_to_an_address(shop: Shop) -> str:
    order = shop.order(2)
    order.pay(2 * PRICE + 4_990_000, blocks=CONFIRMATIONS)
    order.wait(lambda it: it["refund_due"] and not it["refund_pending"])
    order.send("refund-address", {"address": anvil.BUYER})
    return "/money/pay-back"


def _small_refunds(shop: Shop) -> str:
    for _ in range(2):
        _overpaid(shop)
    return "/refunds/waive?most=5"


def _door(shop: Shop) -> str:
    """Let some guests in at two gates, and one of them twice by a phone that was offline."""
    opened = datetime.now(UTC).isoformat(timespec="seconds")
    shop.change("PATCH", f"/events/{shop.event_id}", {"doors_open_at": opened})
    codes = _with_guests(shop)
    for gate, scanned in (("North", codes[:2]), ("South", codes[1:2])):
        made = shop.change(
            "POST", f"/events/{shop.event_id}/door-devices", {"name": "Phone", "gate": gate}
        )
        _scan(shop.client, made["pairing_code"], shop.event_id, scanned)
    return _event(shop, "door")


def _scan(client: Client, pairing_code: str, event_id: str, codes: list[str]) -> None:
    paired: Any = client.send("POST", "/v1/door/pair", {"pairing_code": pairing_code}).json
    at = datetime.now(UTC).isoformat(timespec="seconds")
    scans = [
        {"nonce": str(uuid4()), "kind": "redeem", "at": at, "code": code, "decided": "admitted"}
        for code in codes
    ]
    client.send(
        "POST",
        f"/v1/door/tenants/{TENANT}/events/{event_id}/scans",
        {"sent_at": at, "scans": scans, "unsynced": 2},
        {"Authorization": f"Bearer {paired['token']}"},
    )


def _person(shop: Shop) -> str:
    some = [shop.event_id]
    asked = {"email": "grace@northernlights.example", "role": "write", "event_ids": some}
    return f"/people/{shop.change('POST', '/members', asked)['id']}"


def _key(shop: Shop) -> str:
    return f"/keys/{shop.change('POST', '/apikeys', {'name': 'Shop', 'role': 'paywall'})['id']}"


def _webhook(shop: Shop) -> str:
    asked = {"url": "https://shop.example.org:8443/hooks/tickets", "types": ["intent.confirmed"]}
    made = shop.change("POST", "/webhooks", asked)
    shop.change("POST", f"/webhooks/{made['id']}/test")
    return f"/webhooks/{made['id']}"


DESK_SHOTS = (
    _shot("orders", lambda shop: "/orders"),
    _shot("order", lambda shop: f"/orders/{_overpaid(shop)}"),
    _shot("attendees", _attendees),
    _shot("attendees-chosen", _attendees, act=_press_all),
    _shot("attendee", _attendee),
    _shot("guests", lambda shop: _event(shop, "guests")),
    _shot("money", lambda shop: "/money"),
    _shot("money-pay-back", _owed_to_an_address),
    _shot("money-move", lambda shop: "/money/move"),
    _shot("refunds", lambda shop: "/refunds"),
    _shot("refund", lambda shop: f"/refunds/{_overpaid(shop)}"),
    _shot("refunds-waive", _small_refunds),
    _shot("door", _door),
    _shot("scanner", lambda shop: "/scanner"),
    _shot("person", _person),
    _shot("people", lambda shop: "/people"),
    _shot("key", _key),
    _shot("keys", lambda shop: "/keys"),
    _shot("webhook", _webhook),
    _shot("webhooks", lambda shop: "/webhooks"),
    _shot("audit-log", lambda shop: "/audit-log"),
)
