"""The steps of a journey, each in a closed loop, beside bare WSGI and Flask."""

from collections.abc import Mapping, Sequence

from bench import cases, load
from bench.cases import CHECKOUT, Bound, Case, Request
from bench.databases import POSTGRES, SQLITE
from bench.rows import Row
from bench.shop import TENANT, Shop
from bench.table import aligned, verdict

POLLS = 20
JOURNEY_MS = {SQLITE: 25.0}
"""The CPU limit of a journey in milliseconds."""

_POLL = "poll, nothing changed"
_JOURNEY: Mapping[str, int] = {
    "event page": 1,
    "order, the page's form": 1,
    "order page": 1,
    _POLL: POLLS,
    "purchase, confirmed": 1,
    "ticket page": 1,
}
"""How often a buyer takes each step."""

_HOT_PAGE = f"/{TENANT}/hot-night"
_SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin"}


def steps(shop: Shop) -> tuple[Case, ...]:
    """Return the steps. A poll of an intent with an ETag sends it, and expects 304."""
    poll_status = 200 if shop.waiting_etag is None else 304
    refused = {SQLITE: Bound(2.5), POSTGRES: Bound(2.5)}
    return (
        Case("event page", 200, cases.event_page, {}),
        Case("order, the page's form", 303, _form, {}),
        Case("order, the API", 201, cases.preflight, {POSTGRES: Bound(a_second=600)}),
        Case("order page", 200, _order_page, {}),
        Case(_POLL, poll_status, _poll, {SQLITE: Bound(2), POSTGRES: Bound(3)}),
        Case("purchase, confirmed", 200, cases.purchase, {}),
        Case("ticket page", 200, _ticket_page, {}),
        Case("sold out, the page's form", 303, _form_sold_out, refused),
        Case("sold out, the API", 409, cases.preflight_sold_out, refused),
    )


def journeys(rows: Sequence[Row]) -> str:
    """Return a table with the CPU of a journey on each server: the sum of its steps."""
    lines = []
    for answered_by in dict.fromkeys(row.answered_by for row in rows):
        of_steps = {row.case: row for row in rows if row.answered_by == answered_by}
        server, database, both = (
            sum(each(of_steps[name]) * times for name, times in _JOURNEY.items()) / 1000
            for each in (_server_us, _database_us, Row.cpu_us)
        )
        most = JOURNEY_MS.get(answered_by)
        cells = [f"{server:.1f}", f"{database:.1f}", f"{both:.1f}"]
        bound = ["-", "-"] if most is None else [f"<= {most:g} ms", verdict(both <= most)]
        lines.append([answered_by, *cells, *bound])
    heads = ("a journey", "server ms", "database ms", "CPU ms", "bound", "holds")
    return aligned(heads, lines)


def _server_us(row: Row) -> float:
    return row.server_us


def _database_us(row: Row) -> float:
    return row.database_us


def _form(shop: Shop) -> Request:
    return _sent_form(shop.hot_ticket_id)


def _form_sold_out(shop: Shop) -> Request:
    return _sent_form(shop.sold_out_ticket_id)


def _sent_form(ticket_id: str) -> Request:
    fields = {"idempotency_key": load.NONCE, "ticket_id": ticket_id, "quantity": "1"}
    form = {**fields, "email": "", "name": ""}
    return Request("POST", f"{_HOT_PAGE}/order", _SAME_ORIGIN, form=form)


def _order_page(shop: Shop) -> Request:
    return Request("GET", f"/o/{shop.waiting_id}.{shop.waiting_secret}")


def _poll(shop: Shop) -> Request:
    headers = {"Authorization": f"Bearer {shop.waiting_secret}"}
    if shop.waiting_etag is not None:
        headers["If-None-Match"] = shop.waiting_etag
    return Request("GET", f"{CHECKOUT}/intents/{shop.waiting_id}", headers)


def _ticket_page(shop: Shop) -> Request:
    return Request("GET", f"/t/{shop.ticket_code}")
