"""Every field of every request: which values its bounds accept and reject, and the error's name."""

import json
from typing import Any, NamedTuple

import pytest

from tests.conftest import SECRET_KEY
from tests.support.factories import in_days, new_xpub
from tests.support.field_values import (
    BAD_TIMES,
    BOOLEAN,
    EMAIL,
    EPOCH,
    EVENT,
    EXPONENT,
    FOUR_BYTES,
    GOOD_TIMES,
    RIGHT_TO_LEFT,
    SHOWN_AS_DEFAULT,
    TICKET_TYPE,
    choice,
    integer,
    text,
)
from ticketing import credentials, ids

ADDRESS = "0x" + "ab" * 20
TX_HASH = {"tx_hash": "0x" + "ab" * 32}
NOWHERE = ids.INTENT + "0" * 26
HOLDER = ([{}], [None, [], "Ada", 1, True])
NAME = text(1, 200, null=True)
SCAN = {
    "nonce": "6f0c1d1e-8a55-4b0e-9d3c-2b1f0e9d8c7b",
    "kind": "redeem",
    "code": "x",
    "at": EPOCH,
}
NEW_STATUS = choice("draft", "published")
CASES = {
    "EventCreate": {**EVENT, "status": NEW_STATUS},
    "EventChange": EVENT,
    "TicketTypeCreate": {**TICKET_TYPE, "status": NEW_STATUS},
    "TicketTypeChange": TICKET_TYPE,
    "Status": {"status": choice("draft", "published", "canceled")},
    "EventStatus": {"status": choice("draft", "published", "canceled"), "refund": BOOLEAN},
    "Preflight": {
        "event_id": text(1, 80),
        "ticket_id": text(1, 80),
        "chain_id": integer(1, 2**53 - 1, null=True),
        "quantity": integer(1, 100),
        "buyer": HOLDER,
        "buyer.email": EMAIL,
        "buyer.name": NAME,
        "max_amount": integer(0, 2**53 - 1, null=True),
    },
    "HolderChange": {"holder": HOLDER, "holder.email": EMAIL, "holder.name": NAME},
    "TransferCreate": {"holder": HOLDER, "holder.email": EMAIL, "holder.name": NAME},
    "TransferAccept": {
        "offer": text(1, 200),
        "holder": HOLDER,
        "holder.email": EMAIL,
        "holder.name": NAME,
    },
    "ApiKeyCreate": {
        "name": text(1, 100),
        "role": choice("read", "paywall", "write", "admin"),
        "ttl_seconds": integer(60, 31_536_000),
    },
    "ApiKeyRotate": {
        "overlap_seconds": integer(0, 86_400),
        "ttl_seconds": integer(60, 31_536_000),
    },
    "KeyExchange": {"api_key": text(1, 200)},
    "Login": {"tenant": text(1, 100), "email": text(1, 254), "password": text(1, 128)},
    "RefundSettle": {
        "tx_hash": text(66, 66, free=False, good=("0x" + "ab" * 32,), bad=("x" * 66,)),
        "recipient": text(42, 42, null=True, free=False, good=(ADDRESS,), bad=("x" * 42,)),
    },
    "Void": {
        "reason": text(1, 500, bad=(" ", "\n")),
        "refund": BOOLEAN,
        "transferred": BOOLEAN,
        "force": BOOLEAN,
    },
    "Reissue": {"email": EMAIL},
    "GuestList": {
        "holders": (
            [[{}], [{"name": "Ada"}] * 100, [{"name": None, "email": "a@b.io"}]],
            [None, {}, "Ada", 1, True, [], [{}] * 101],
        ),
        "reason": text(1, 500, bad=(" ", "\n"), null=True),
    },
    "RefundWaive": {"amount": integer(1, 2**53 - 1), "reason": text(1, 500)},
    "RefundAddress": {"address": text(42, 42, free=False, good=(ADDRESS,), bad=("x" * 42,))},
    "DoorDeviceCreate": {
        "name": text(1, 100),
        "gate": text(1, 100, null=True),
        "show_names": BOOLEAN,
        "expires_at": ([in_days(1)], BAD_TIMES),
    },
    "Pair": {"pairing_code": text(1, 40)},
    "Scans": {
        "sent_at": (GOOD_TIMES, [*BAD_TIMES, None]),
        "scans": ([[SCAN], [SCAN] * 500], [[], [SCAN] * 501, None, {}, "x", 1]),
        "unsynced": integer(0, 1_000_000),
    },
    "WalletSet": {"xpub": text(1, 200, free=False, good=(new_xpub(),), bad=("x", "xpub6" * 20))},
}


PAGE = {
    "limit": (["1", "100"], ["0", "101", "-1", "x", "", "1.0", "1e1", "+1", " 1", "٣", "9" * 400]),
    "cursor": ([], ["", "x", "x" * 1001, "a\0b"]),
}
NAMED = (["cli", "x" * 100, RIGHT_TO_LEFT], ["", "x" * 101, "a\0b"])
ID = (["evt_x", "x" * 80, RIGHT_TO_LEFT], ["", "x" * 81, "a\0b"])


def option(*values):
    return values, ("", "gone", values[0].upper(), "a\0b")


QUERIES = {
    "/events": {
        **PAGE,
        "status": option("draft", "published", "canceled"),
        "type": option("online", "in_person", "hybrid"),
        "q": (["x", "x" * 200, FOUR_BYTES, "%_\\'"], ["", "x" * 201, "a\0b"]),
        "sort": option("created_at", "-created_at", "start_at", "-start_at"),
    },
    "/events/{event_id}/tickets": PAGE,
    "/apikeys": {**PAGE, "status": option("active", "expired", "revoked")},
    "/intents": {
        **PAGE,
        "status": option(
            *("awaiting_payment", "processing", "confirmed", "expired", "canceled", "reversed")
        ),
        "event_id": ID,
        "flag": option("underpaid", "overpaid", "paid_late", "duplicate", "reorged"),
    },
    "/refunds": {**PAGE, "status": option("due", "waived", "settled")},
    "/audit-log": {**PAGE, "actor": NAMED, "subject": NAMED},
    "/events/{event_id}/door-devices": PAGE,
    "/admissions": {
        **PAGE,
        "event_id": ID,
        "status": option("valid", "suspended", "void"),
        "redeemed": (["true", "false"], ["", "True", "1", "0", "no", "a\0b"]),
        "q": (["x", "x" * 200, FOUR_BYTES, "%_\\'"], ["", "x" * 201, "a\0b"]),
    },
}
PUBLIC_QUERIES = {"/events": PAGE, "/events/{event_id}/tickets": PAGE}
DOOR_QUERIES = {
    "/manifest": {
        "since": ([], ["", "x", "x" * 1001, "a\0b"]),
        "unsynced": (["0", "1000000"], ["-1", "1000001", "x", "", "1.0", "٣"]),
    }
}


class Door(NamedTuple):
    """Where a field is tried, with which other fields, and the response to a valid value."""

    method: str
    path: str
    body: dict[str, Any]
    status: int = 200
    secret: str | None = None


def key_of(organizer):
    """The id of another key than the one in use."""
    return "key_" + organizer.key("read").split("_")[1]


def door(organizer, schema):
    def held(transferable=True):
        ticket = organizer.ticket(price_amount=0, transferable=transferable)
        (admission,) = organizer.buyer(ticket).purchase().json["admissions"]
        return f"{organizer.checkout}/admissions/{admission['id']}"

    event = {"title": "T", "type": "online", "start_at": EPOCH, "end_at": None, "timezone": "UTC"}
    event |= {"doors_open_at": None, "transfers_end_at": None}
    ticket = {"name": "T", "price_amount": 0, "chain_id": 1, "max_per_order": 100}
    ticket |= {"min_per_order": 1, "sales_start_at": None, "sales_end_at": None}
    of = organizer.event(status="draft")
    events, here = f"{organizer.path}/events", f"{organizer.path}/events/{of['id']}"
    tickets = f"{here}/tickets"
    nothing = {"event_id": "evt_" + "0" * 26, "ticket_id": "tkt_" + "0" * 26}
    return {
        "EventCreate": lambda: Door("POST", events, event, 201),
        "EventChange": lambda: Door("PATCH", here, event),
        "TicketTypeCreate": lambda: Door("POST", tickets, ticket, 201),
        "TicketTypeChange": lambda: Door(
            "PATCH", f"{tickets}/{organizer.ticket(of)['id']}", ticket
        ),
        "Status": lambda: Door(
            "POST", f"{tickets}/{organizer.ticket(of, status='draft')['id']}/status", {}
        ),
        "EventStatus": lambda: Door("POST", f"{here}/status", {"status": "canceled"}),
        "Preflight": lambda: Door("POST", f"{organizer.checkout}/preflight", nothing, 404),
        "HolderChange": lambda: Door("PATCH", held(), {"holder": {}}),
        "TransferCreate": lambda: Door("POST", f"{held(False)}/transfer", {}, 409),
        "TransferAccept": lambda: Door(
            "POST", f"{organizer.checkout}/transfers/accept", {"offer": "x"}, 404
        ),
        "ApiKeyCreate": lambda: Door(
            "POST", f"{organizer.path}/apikeys", {"name": "k", "role": "read"}, 201
        ),
        "ApiKeyRotate": lambda: Door(
            "POST", f"{organizer.path}/apikeys/{key_of(organizer)}/rotate", {}
        ),
        "KeyExchange": lambda: Door("POST", "/v1/auth/token", {}, 401),
        "Login": lambda: Door(
            "POST", "/v1/auth/login", {"tenant": "t", "email": "e@x.io", "password": "p"}, 401
        ),
        "RefundSettle": lambda: Door(
            "POST", f"{organizer.path}/refunds/{NOWHERE}/settle", TX_HASH, 404
        ),
        "RefundWaive": lambda: Door(
            "POST",
            f"{organizer.path}/refunds/{NOWHERE}/waive",
            {"amount": 1, "reason": "x"},
            404,
        ),
        "RefundAddress": lambda: Door(
            "POST",
            f"{organizer.checkout}/intents/{NOWHERE}/refund-address",
            {},
            404,
            credentials.client_secret(SECRET_KEY, NOWHERE),
        ),
        "Void": lambda: Door(
            "POST",
            f"{organizer.path}/admissions/{ids.ADMISSION}{'0' * 26}/void",
            {"reason": "r", "refund": False},
            404,
        ),
        "Reissue": lambda: Door(
            "POST", f"{organizer.path}/admissions/{ids.ADMISSION}{'0' * 26}/reissue", {}, 404
        ),
        "GuestList": lambda: Door(
            "POST",
            f"{tickets}/{organizer.ticket(of, capacity=None)['id']}/admissions",
            {"holders": [{}]},
            201,
        ),
        "DoorDeviceCreate": lambda: Door("POST", f"{here}/door-devices", {"name": "d"}, 201),
        "Pair": lambda: Door("POST", "/v1/door/pair", {}, 401),
        "Scans": lambda: Door(
            "POST",
            f"/v1/door/tenants/{organizer.slug}/events/{of['id']}/scans",
            {"sent_at": EPOCH, "scans": [SCAN]},
        ),
        "WalletSet": lambda: Door("PUT", f"{organizer.path}/wallet", {}),
    }[schema]()


def send(organizer, to, fields):
    """Send the door's body with these fields, of which `a.b` stands within `a`."""
    body = dict(to.body)
    for name, value in fields.items():
        outer, _, inner = name.partition(".")
        body[outer] = {**body.get(outer, {}), inner: value} if inner else value
    text = json.dumps(body).replace(f'"{EXPONENT}"', "1e3")
    headers = {"X-API-Key": organizer.admin_key, "Content-Type": "application/json"}
    if to.secret is not None:
        headers["Authorization"] = f"Bearer {to.secret}"
    return organizer.app.test_client().open(to.path, method=to.method, headers=headers, data=text)


@pytest.mark.parametrize("schema", CASES)
def test_what_lies_within_the_bounds_is_taken_and_given_back_unchanged(acme, schema):
    to = door(acme, schema)
    for field, (inside, _) in CASES[schema].items():
        for value in inside:
            answer = send(acme, to, {field: value})
            assert answer.status_code == to.status, (field, value, answer.json)
            if to.status == 200 and (inner := field.partition(".")[2]):
                assert answer.json["holder"][inner] == value
            if to.status < 300 and field in answer.json and field != "holder":
                expected = GOOD_TIMES.get(value, value) if field.endswith("_at") else value
                is_default = value is None and field in SHOWN_AS_DEFAULT
                assert is_default or answer.json[field] == expected


@pytest.mark.parametrize("schema", CASES)
def test_what_lies_outside_the_bounds_is_refused_by_name(acme, schema):
    to = door(acme, schema)
    for field, (_, outside) in CASES[schema].items():
        for value in outside:
            answer = send(acme, to, {field: value})
            assert answer.status_code == 422, (field, value, answer.json)
            assert answer.json["errors"].keys() == {field}, value


@pytest.mark.parametrize("schema", CASES)
def test_several_faults_are_all_named_at_once(acme, schema):
    faults = {field: outside[0] for field, (_, outside) in CASES[schema].items()}
    faults = {name: value for name, value in faults.items() if name not in ("buyer", "holder")}
    answer = send(acme, door(acme, schema), {**faults, "nonsense": 1})
    assert answer.status_code == 422
    assert answer.json["errors"].keys() == {*faults, "nonsense"}


def test_every_query_parameter_has_bounds_too(acme):
    admin, event = acme.api(), acme.event()
    at_door = f"/v1/door/tenants/{acme.slug}/events/{event['id']}"
    surfaces = ((acme.path, QUERIES), (acme.public, PUBLIC_QUERIES), (at_door, DOOR_QUERIES))
    for base, queries in surfaces:
        for path, parameters in queries.items():
            here = base + path.format(event_id=event["id"])
            for name, (inside, outside) in parameters.items():
                for value in inside:
                    assert admin.get(here, query_string={name: value}).status_code == 200, value
                for value in outside:
                    refused = admin.get(here, query_string={name: value})
                    assert refused.status_code == 422, (here, name, value)
                    assert refused.json["errors"].keys() == {name}


def test_no_field_and_no_parameter_is_without_its_case(api):
    document = api.get("/openapi.json").json
    schemas = document["components"]["schemas"]

    def fields_of(name, prefix=""):
        for field, of in schemas[name]["properties"].items():
            yield prefix + field
            if "$ref" in of:
                yield from fields_of(of["$ref"].rsplit("/", 1)[1], f"{field}.")

    bodies, queries = {}, {}
    for path, item in document["paths"].items():
        for operation in (each for each in item.values() if isinstance(each, dict)):
            if "requestBody" in operation:
                taken = operation["requestBody"]["content"]["application/json"]["schema"]
                name = taken["$ref"].rsplit("/", 1)[1]
                bodies[name] = set(fields_of(name))
            asked = {
                each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"
            }
            if asked:
                queries[path] = asked
    assert bodies == {name: set(fields) for name, fields in CASES.items()}
    expected = {
        f"/v1/{surface}/tenants/{{tenant}}{path}": set(parameters)
        for surface, of in (("admin", QUERIES), ("public", PUBLIC_QUERIES))
        for path, parameters in of.items()
    }
    expected |= {
        f"/v1/door/tenants/{{tenant}}/events/{{event_id}}{path}": set(parameters)
        for path, parameters in DOOR_QUERIES.items()
    }
    assert queries == expected
