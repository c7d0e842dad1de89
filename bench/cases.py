"""The measured cases: a request, its expected status, and its cost bound."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from bench import load
from bench.buyers import TENANT
from bench.shop import Shop
from ticketing import ids
from tools.anvil import SECOND_CHAIN_ID

SQLITE, POSTGRES = "SQLite", "Postgres"
_PUBLIC = f"/v1/public/tenants/{TENANT}"
_ADMIN = f"/v1/admin/tenants/{TENANT}"
_CHECKOUT = f"/v1/checkout/tenants/{TENANT}"


@dataclass(frozen=True)
class Request:
    """One HTTP request, with `body` as JSON, or with a `form`."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    form: Mapping[str, str] | None = None

    def to(self, port: int, path: str | None = None) -> bytes:
        """Return its bytes for a local server, with `path` in place of its own if given."""
        body = self._body()
        headers = {"Host": f"127.0.0.1:{port}", "Accept": "*/*", "X-Forwarded-For": load.CLIENT}
        headers.update(self.headers)
        if self.method == "POST":
            headers["Content-Length"] = str(len(body))
        if body:
            of_form = "application/x-www-form-urlencoded"
            headers["Content-Type"] = "application/json" if self.form is None else of_form
        lines = [f"{self.method} {path or self.path} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return "\r\n".join([*lines, "", ""]).encode() + body

    def _body(self) -> bytes:
        if self.form is not None:
            return urlencode(self.form).encode()
        return b"" if self.body is None else json.dumps(self.body).encode()


@dataclass(frozen=True)
class Case:
    """A request to a shop.

    `bounds`: for each database, the most CPU as a multiple of Flask's for the same status and size.
    """

    name: str
    status: int
    request: Callable[[Shop], Request]
    bounds: Mapping[str, float]


@dataclass(frozen=True)
class Journey:
    """What one buyer asks for: `times` each case. `bounds` are to the same requests of Flask."""

    name: str
    times: Mapping[str, int]
    bounds: Mapping[str, float]


def _most(sqlite: float, postgres: float) -> Mapping[str, float]:
    return {SQLITE: sqlite, POSTGRES: postgres}


def _listing(shop: Shop) -> Request:
    return Request("GET", f"{_PUBLIC}/events/{shop.event_id}/tickets")


def _listing_known(shop: Shop) -> Request:
    return Request("GET", _listing(shop).path, {"If-None-Match": shop.etag})


def _event_page(shop: Shop) -> Request:
    return Request("GET", f"/{TENANT}/summer-concert")


def _event_by_jwt(shop: Shop) -> Request:
    bearer = {"Authorization": f"Bearer {shop.jwt}"}
    return Request("GET", f"{_ADMIN}/events/{shop.event_id}", bearer)


def _event_by_key(shop: Shop) -> Request:
    return Request("GET", f"{_ADMIN}/events/{shop.event_id}", {"X-API-Key": shop.key})


def _exchange(shop: Shop) -> Request:
    return Request("POST", "/v1/auth/token", body={"api_key": shop.key})


def _preflight(shop: Shop) -> Request:
    body = {"event_id": shop.hot_event_id, "ticket_id": shop.hot_ticket_id}
    return Request("POST", f"{_CHECKOUT}/preflight", body=body)


def _preflight_sold_out(shop: Shop) -> Request:
    body = {"event_id": shop.hot_event_id, "ticket_id": shop.sold_out_ticket_id}
    return Request("POST", f"{_CHECKOUT}/preflight", body=body)


def _scan(shop: Shop) -> Request:
    scan: dict[str, Any] = {
        "nonce": load.NONCE,
        "kind": "redeem",
        "admission_id": f"{ids.ADMISSION}{load.SEAT}",
    }
    scan |= {"generation": 1, "at": "2026-01-01T00:00:00Z"}
    path = f"/v1/door/tenants/{TENANT}/events/{shop.door_event_id}/scans"
    body = {"sent_at": "2026-01-01T00:00:00Z", "scans": [scan]}
    # A device redeems 60 tickets a minute by number; an organizer has no such limit.
    return Request("POST", path, {"X-API-Key": shop.key}, body)


def _purchase(shop: Shop) -> Request:
    bearer = {"Authorization": f"Bearer {shop.client_secret}"}
    return Request("POST", f"{_CHECKOUT}/intents/{shop.intent_id}/purchase", bearer)


def _form(shop: Shop) -> Request:
    return _sent_form(shop.hot_ticket_id)


def _form_sold_out(shop: Shop) -> Request:
    return _sent_form(shop.sold_out_ticket_id)


def _sent_form(ticket_id: str) -> Request:
    fields = {"idempotency_key": load.NONCE, "ticket_id": ticket_id, "quantity": "1"}
    form, same_origin = {**fields, "email": "", "name": ""}, {"Sec-Fetch-Site": "same-origin"}
    return Request("POST", f"/{TENANT}/hot-night/order", same_origin, form=form)


def _full_event_page(shop: Shop) -> Request:
    return Request("GET", shop.full.page_with_code)


def _full_form(shop: Shop) -> Request:
    form, same_origin = (
        shop.full.form(load.NONCE, SECOND_CHAIN_ID),
        {"Sec-Fetch-Site": "same-origin"},
    )
    return Request("POST", f"{shop.full.page}/order", same_origin, form=form)


def _full_preflight(shop: Shop) -> Request:
    return Request("POST", f"{_CHECKOUT}/preflight", body=shop.full.body(SECOND_CHAIN_ID))


def _full_order_page(shop: Shop) -> Request:
    return Request("GET", f"/o/{shop.full_waiting_id}.{shop.full_waiting_secret}")


def _full_purchase(shop: Shop) -> Request:
    bearer = {"Authorization": f"Bearer {shop.full_secret}"}
    return Request("POST", f"{_CHECKOUT}/intents/{shop.full_id}/purchase", bearer)


def _order_page(shop: Shop) -> Request:
    return Request("GET", f"/o/{shop.waiting_id}.{shop.waiting_secret}")


def _poll(shop: Shop) -> Request:
    bearer = {"Authorization": f"Bearer {shop.waiting_secret}"}
    headers = {**bearer, "If-None-Match": shop.waiting_etag}
    return Request("GET", f"{_CHECKOUT}/intents/{shop.waiting_id}", headers)


def _ticket_page(shop: Shop) -> Request:
    return Request("GET", f"/t/{shop.ticket_code}")


# README.md has the reason for each bound that was raised.
CASES = (
    Case("public listing", 200, _listing, _most(1.3, 1.8)),
    Case("public listing, not modified", 304, _listing_known, _most(1.3, 1.8)),
    Case("event page", 200, _event_page, _most(3.2, 4.4)),
    Case("admin event, JWT", 200, _event_by_jwt, _most(4.5, 7.5)),
    Case("admin event, API key", 200, _event_by_key, _most(5, 7.5)),
    Case("key for a JWT", 200, _exchange, _most(4, 5)),
    Case("preflight", 201, _preflight, _most(7, 13)),
    Case("preflight, sold out", 409, _preflight_sold_out, _most(3, 5.5)),
    Case("purchase, confirmed", 200, _purchase, _most(4, 6.5)),
    Case("scan", 200, _scan, _most(6, 10)),
)
"""The rows of `make bench`."""

_EVENT_PAGE, _FORM, _ORDER_PAGE = "event page", "order, the page's form", "order page"
_POLL, _PURCHASE, _TICKET_PAGE = "poll, nothing changed", "purchase, confirmed", "ticket page"
_FULL_EVENT_PAGE, _FULL_FORM = "full: event page with the code", "full: order, the page's form"
_FULL_ORDER_PAGE, _FULL_PURCHASE = "full: order page", "full: purchase, confirmed"

HOT = Case("order, the API", 201, _preflight, _most(7, 13))
"""An order of the hot ticket type."""

STEPS = (
    Case(_EVENT_PAGE, 200, _event_page, {}),
    Case(_FORM, 303, _form, _most(8, 15)),
    HOT,
    Case(_ORDER_PAGE, 200, _order_page, {SQLITE: 6}),
    Case(_POLL, 304, _poll, _most(1.1, 2.5)),
    Case(_PURCHASE, 200, _purchase, {}),
    Case(_TICKET_PAGE, 200, _ticket_page, {SQLITE: 6}),
    Case("sold out, the page's form", 303, _form_sold_out, {SQLITE: 4}),
    Case("sold out, the API", 409, _preflight_sold_out, {SQLITE: 3}),
    Case(_FULL_EVENT_PAGE, 200, _full_event_page, {}),
    Case(_FULL_FORM, 303, _full_form, {}),
    Case("full: order, the API", 201, _full_preflight, {}),
    Case(_FULL_ORDER_PAGE, 200, _full_order_page, {}),
    Case(_FULL_PURCHASE, 200, _full_purchase, {}),
)
"""The rows of `make bench-onsale`. Those of a full order have no bound."""

_ALWAYS = {_EVENT_PAGE: 1, _POLL: 20, _TICKET_PAGE: 1}

JOURNEYS = (
    Journey("plain order", {**_ALWAYS, _FORM: 1, _ORDER_PAGE: 1, _PURCHASE: 1}, _most(2, 3.5)),
    Journey(
        "full order",
        {**_ALWAYS, _FULL_EVENT_PAGE: 1, _FULL_FORM: 1, _FULL_ORDER_PAGE: 1, _FULL_PURCHASE: 1},
        {},
    ),
)
