"""The cases of bench.growth: lists, point reads, an order, the worker's queries."""

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from bench.growth_sides import CHAIN, PASSWORD, Side
from ticketing import clock
from ticketing.chain.answers import Block
from ticketing.chain.registry import REGISTRY
from ticketing.constants import MAX_PAGE
from ticketing.models.admissions import Admission
from ticketing.services import chains
from ticketing.services.payments import settlement, watched_orders

ADMIN, PUBLIC = "/v1/admin/tenants/big", "/v1/public/tenants/big"
CHECKOUT = "/v1/checkout/tenants/big"
DOOR = "/v1/door/tenants/big/events/{hit}"
FAIR = "tenants/fair/events/{fair}/tickets"
LIMITS = (25, 10, 5, 2, 1)
PAGE = 1000

LISTS = (
    f"{ADMIN}/events",
    f"{ADMIN}/events?sort=-start_at",
    f"{ADMIN}/events?status=published",
    f"{ADMIN}/events?status=canceled&sort=start_at",
    f"{ADMIN}/events?type=hybrid",
    f"{ADMIN}/events?type=online&sort=-start_at",
    f"{ADMIN}/events?status=published&type=online",
    f"{ADMIN}/events?q=night",
    f"{ADMIN}/apikeys",
    f"{ADMIN}/apikeys?status=active",
    f"{ADMIN}/apikeys?status=revoked",
    f"{ADMIN}/intents",
    f"{ADMIN}/intents?status=confirmed",
    f"{ADMIN}/intents?status=expired",
    f"{ADMIN}/intents?event_id={{hit}}",
    f"{ADMIN}/intents?event_id={{hit}}&status=confirmed",
    f"{ADMIN}/intents?flag=underpaid",
    f"{ADMIN}/intents?flag=overpaid&status=confirmed",
    f"{ADMIN}/refunds",
    f"{ADMIN}/audit-log",
    f"{ADMIN}/audit-log?actor=cli",
    f"{ADMIN}/admissions",
    f"{ADMIN}/admissions?status=valid",
    f"{ADMIN}/admissions?event_id={{hit}}",
    f"{ADMIN}/admissions?redeemed=true",
    f"{ADMIN}/admissions?event_id={{hit}}&redeemed=false",
    f"{ADMIN}/admissions?q=night",
    f"/v1/admin/{FAIR}",
    f"{PUBLIC}/events",
    f"/v1/public/{FAIR}",
)

READS: dict[str, tuple[str, dict[str, Any]]] = {
    "an event": (f"{ADMIN}/events/{{hit}}", {}),
    "a ticket type": (f"{ADMIN}/events/{{hit}}/tickets/{{ticket}}", {}),
    "an intent": (f"{ADMIN}/intents/{{intent}}", {}),
    "an API key": (f"{ADMIN}/apikeys/{{key}}", {}),
    "the wallet": (f"{ADMIN}/wallet", {}),
    "a public event": (f"{PUBLIC}/events/{{hit}}", {"caller": None}),
    "a public event, cached": (
        f"{PUBLIC}/events/{{hit}}",
        {"caller": None, "cached": True},
    ),
    "a public event by slug": (f"{PUBLIC}/events/{{slug}}", {"caller": None}),
    "its ticket types": (f"{PUBLIC}/events/{{hit}}/tickets", {"caller": None}),
    "a buyer's intent": (f"{CHECKOUT}/intents/{{intent}}", {"caller": "{secret}"}),
    "a JWT for a key": ("/v1/auth/token", {"caller": None, "body": {"api_key": "{plain}"}}),
    "a JWT for a password": (
        "/v1/auth/login",
        {
            "caller": None,
            "body": {"tenant": "big", "email": "{email}", "password": PASSWORD},
        },
    ),
    "/v1/chains": ("/v1/chains", {"caller": None}),
    "/healthz": ("/healthz", {"caller": None}),
    "/readyz": ("/readyz", {"caller": None}),
}


PREFLIGHT, SCAN, DELTA = "preflight", "a scan", "a manifest's delta"
WRITES = (PREFLIGHT, SCAN, DELTA)


def request(side: Side, name: str) -> Callable[[], Any]:
    """Return a function that sends the named request to one side."""
    if name == PREFLIGHT:
        order = {"event_id": side.known["hit"], "ticket_id": side.known["ticket"]}
        return side.request(f"{CHECKOUT}/preflight", body=order, caller=None)
    if name == SCAN:
        return _scan(side)
    if name == DELTA:
        side.use()
        cursor = side.request(f"{DOOR}/manifest")()["cursor"]
        return side.request(f"{DOOR}/manifest", query={"since": cursor})
    path, options = READS[name]
    if options.get("caller"):
        options = {**options, "caller": options["caller"].format(**side.known)}
    if options.get("body"):
        body = {each: value.format(**side.known) for each, value in options["body"].items()}
        options = {**options, "body": body}
    return side.request(path, **options)


def _scan(side: Side) -> Callable[[], Any]:
    """Return a function that scans one admission of the large event, with a new nonce each time."""
    side.use()
    admission = Admission.select().where(Admission.event == side.known["hit"]).first()
    now = clock.now().isoformat()

    def scan() -> Any:
        named = {"admission_id": admission.id, "generation": admission.generation}
        scan = {"nonce": str(uuid.uuid4()), "kind": "redeem", "at": now, **named}
        return side.request(f"{DOOR}/scans", body={"sent_at": now, "scans": [scan]})()

    return scan


@dataclass(frozen=True)
class Pages:
    """The first page of a list, and a late one."""

    limit: int
    number: int
    first: Callable[[], Any]
    far: Callable[[], Any]


def pages(side: Side, path: str) -> Pages:
    """Find the list's 1,000th page or its last, with the largest page size up to 25."""
    caller = "fair" if "/fair/" in path else "big"

    base, _, filters = path.format(**side.known).partition("?")
    query = dict(parse_qsl(filters))

    def page(limit: int, cursor: str | None) -> Callable[[], Any]:
        asked = {**query, "limit": str(limit), **({"cursor": cursor} if cursor else {})}
        return side.request(base, caller=caller, query=asked)

    side.use()
    cursors: list[str | None] = [None]
    rows = 0
    while rows < PAGE * LIMITS[0]:
        answer = page(MAX_PAGE, cursors[-1])()
        rows += len(answer["data"])
        if answer["next_cursor"] is None:
            break
        cursors.append(answer["next_cursor"])
    limit = next((each for each in LIMITS if each * PAGE <= rows), 1)
    number = min(PAGE, rows // limit)
    before = (number - 1) * limit
    cursor = cursors[before // MAX_PAGE]
    if before % MAX_PAGE:
        cursor = page(before % MAX_PAGE, cursor)()["next_cursor"]
    return Pages(limit, number, page(limit, None), page(limit, cursor))


def looks(side: Side) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the queries of the worker by name.

    Their cost must depend on the size of their result, not on the size of the database.
    """
    side.use()
    cursor = chains.cursor(CHAIN)
    assert isinstance(cursor, Block)
    token = REGISTRY[CHAIN].token_address
    yield "settlement.deep_enough", lambda: settlement.deep_enough(CHAIN, cursor)
    yield "settlement.past_deadline", lambda: settlement.past_deadline(CHAIN, cursor)
    yield "settlement.expire_free", settlement.expire_free
    yield "watched_orders.has_open_orders", lambda: watched_orders.has_open_orders(CHAIN)
    yield (
        "watched_orders.watched_addresses",
        lambda: watched_orders.watched_addresses(CHAIN, token, cursor),
    )
    yield "watched_orders.to_search", lambda: watched_orders.to_search(CHAIN)
    yield "watched_orders.to_sweep", lambda: watched_orders.to_sweep(CHAIN, cursor.time)
