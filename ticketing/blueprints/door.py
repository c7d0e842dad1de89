"""The door's surface: what a device at the door needs."""

from typing import Any

from flask import Response, request

from schemas.box_office import BoxOfficeOrderSchema, BoxOfficeSchema, SoldSchema
from schemas.door_stats import DoorStatsSchema
from schemas.manifest import ManifestQuery, ManifestSchema
from schemas.scans import ScanResultsSchema, ScansSchema
from ticketing import qr_codes
from ticketing.errors import (
    AboveMaximum,
    BelowMinimum,
    BoxOfficeFull,
    CapacityChanged,
    EventOver,
    IdempotencyStillRunning,
    InsufficientRole,
    Invalid,
    NetworkUnavailable,
    NotPayable,
    SalesEnded,
    SalesNotStarted,
    SoldOut,
    TooManyScans,
    VoucherRequired,
)
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services import box_office, chains
from ticketing.services.door import devices, manifest, scans, stats
from ticketing.services.door.scans import ScanRequest
from ticketing.services.door.stats import Stats
from ticketing.services.orders.lines import Wanted
from ticketing.web import secret_guards
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.conditional import may_have_changed, of_tag
from ticketing.web.context import config, door_caller, tenant_of_path
from ticketing.web.idempotency import idempotent, never_stored
from ticketing.web.repeated import IN_ORDER, client_secret_again

blp = ApiBlueprint(
    "door",
    __name__,
    url_prefix="/v1/door/tenants/<tenant>/events/<event_id>",
    guard=secret_guards.Door(),
    description="Check admissions at the door of one event.",
)


def _order_qr(intent_id: str) -> str | None:
    """Return a picture of the link of an order's page. None without PUBLIC_URL."""
    url = box_office.order_url(intent_id, config())
    return None if url is None else qr_codes.picture(url)


def _secrets_again(stored: dict[str, Any]) -> dict[str, Any]:
    return {**client_secret_again(stored), "order_qr": _order_qr(stored["id"])}


@blp.get("/manifest")
@may_have_changed
@blp.arguments(ManifestQuery, location="query")
@blp.response(200, ManifestSchema)
def read_manifest(query: dict[str, Any], tenant: str, event_id: str) -> Response:
    """Read what is needed to check admissions offline: all of it, or what changed."""
    caller = door_caller()
    devices.record_seen(caller, query["unsynced"])
    found = manifest.of(caller, query["since"], config())
    compressed = request.accept_encodings.quality("gzip") > 0

    def body() -> bytes:
        return found.body(compressed=compressed)

    response = of_tag(found.tag, body)
    response.headers["Vary"] = "Accept-Encoding"
    if compressed and response.status_code == 200:
        response.headers["Content-Encoding"] = "gzip"
    return response


@blp.post("/scans")
@blp.arguments(ScansSchema)
@blp.response(200, ScanResultsSchema)
@blp.raises(IdempotencyStillRunning, TooManyScans)
def scan(body: dict[str, Any], tenant: str, event_id: str) -> dict[str, Any]:
    """Redeem admissions, and undo that. Repeat a request freely: each nonce counts once."""
    caller = door_caller()
    requests = [ScanRequest(**each) for each in body["scans"]]
    results = scans.submit(caller, body["sent_at"], requests)
    devices.record_seen(caller, body["unsynced"])
    return {"results": results}


@blp.get("/box-office")
@blp.response(200, BoxOfficeSchema)
@blp.raises(InsufficientRole)
def read_box_office(tenant: str, event_id: str) -> dict[str, Any]:
    """Read what a device that sells can sell now."""
    found = box_office.to_sell(door_caller(), tenant_of_path(), config())
    return {"ticket_types": found}


@blp.post("/box-office/orders")
@idempotent
@blp.arguments(BoxOfficeOrderSchema)
@blp.response(201, SoldSchema)
@blp.raises(
    InsufficientRole,
    BoxOfficeFull,
    Invalid,
    SoldOut,
    SalesNotStarted,
    SalesEnded,
    EventOver,
    BelowMinimum,
    AboveMaximum,
    NotPayable,
    NetworkUnavailable,
    VoucherRequired,
    CapacityChanged,
)
@never_stored("client_secret", "order_qr", IN_ORDER, shown_again=_secrets_again)
def sell(body: dict[str, Any], tenant: str, event_id: str) -> PaymentIntent:
    """Order tickets for somebody at the door, and show how they pay. Only for a device that sells.

    The device follows the order by its `client_secret`, as any buyer. It is confirmed early, if the
    organizer allows that, although the doors are open. Then the device redeems its tickets.
    """
    wanted = Wanted(body["ticket_id"], body["quantity"])
    made = box_office.order(door_caller(), tenant_of_path().id, wanted, body["chain_id"], config())
    made.network = chains.name_of(made.chain_id, config()) if made.chain_id else None
    made.address_qr = made.address and qr_codes.picture(made.address)
    made.payment_qr = made.payment_uri and qr_codes.picture(made.payment_uri)
    made.order_qr = _order_qr(made.id)
    return made


@blp.get("/stats")
@blp.response(200, DoorStatsSchema)
def read_stats(tenant: str, event_id: str) -> Stats:
    """Read who is inside, the last scans, and conflicts."""
    return stats.of(door_caller().event.id)
