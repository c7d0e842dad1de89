"""Every field of every request: which values its bounds accept and reject, and the error's name."""

import fnmatch
import json
from typing import Any, NamedTuple

import pytest

from schemas.base import EXAMPLE_PAYER
from tests.support.admissions import FREE
from tests.support.factories import Organizer
from tests.support.field_values import (
    BODIES,
    CASES,
    EPOCH,
    EXPONENT,
    OPERATIONS,
    QUERIES,
    REFUSED_TOO,
    SCHEMAS,
    SHOWN_AS_DEFAULT,
    TAKEN,
    TAKEN_TOO,
    shown,
)
from tests.support.members import invite
from tests.support.one_of_each import made_for, one_of_each
from tests.support.routes import UNKNOWN, operations_of

pytestmark = [pytest.mark.exhaustive, pytest.mark.one_database]

NOT_FOUND = {
    *("AnswersChange", "EmailCorrection", "EventCopy", "InvitationAccept", "Join"),
    *("MessagePreview", "Preflight", "RefundByHand", "RefundPassOver", "RefundPayee"),
    *("RefundSettle", "RefundWaive", "Reissue", "Release", "SeriesChange", "SignedTransfer"),
    *("TransferAccept", "Void", "WebhookResend", "X402EventOrder", "X402Order"),
    *("QuestionChange", "QuestionCreate"),  # one event has at most 20 questions
}
"""What is tried on nothing: after the fields were accepted it is 404."""

REFUSED_LATER = {
    "KeyExchange": 401,
    "Login": 401,
    "Pair": 401,
    "PayerReport": 404,  # of a free order
    "BoxOfficeOrder": 403,  # with an API key
    "MessageCreate": 409,  # without a mail server
    "EmailChange": 409,  # without a mail server
    "RefundAddress": 409,  # of a free order
    "TransferCreate": 409,  # of a ticket that cannot be transferred
    "MemberInvite": 409,  # a second one with this address
    "ChainChoice": 422,  # a network that is not enabled
    "PayoutCreate": 422,
}
"""How others are refused after their fields were accepted. All others succeed."""

_EVENT = {"title": "T", "type": "online", "start_at": EPOCH, "timezone": "UTC"}
_EVENT |= dict.fromkeys(("end_at", "doors_open_at", "transfers_end_at"))
_TICKET = {"name": "T", "price_amount": 0, "chain_id": 1, "min_per_order": 1, "max_per_order": 100}
_TICKET |= {"free_price": False, "deposit_amount": 0}
_TICKET |= dict.fromkeys(("max_price_amount", "sales_start_at", "sales_end_at"))
_VOUCHER = {"max_usages": 100_000}
BODY_TOO = {
    **dict.fromkeys(("EventCreate", "EventChange"), _EVENT),
    **dict.fromkeys(("TicketTypeCreate", "TicketTypeChange"), _TICKET),
    **dict.fromkeys(("VoucherCreate", "VoucherBatchCreate", "VoucherChange"), _VOUCHER),
    "MemberInvite": {"email": "a@b.io"},
    "Preflight": {"ticket_id": UNKNOWN["ticket_id"]},
}
"""Fields that others depend on, besides those that are required."""


class Door(NamedTuple):
    """Where a field is tried, with which other fields, and the response to a valid value."""

    method: str
    path: str
    body: dict[str, Any]
    status: int
    secret: str | None = None


def door(organizer: Organizer, schema: str) -> Door:
    method, path, example = BODIES[schema]
    operation, secret = OPERATIONS[method, path], None
    ids = {**UNKNOWN, "tenant": organizer.slug}
    if schema not in NOT_FOUND:
        made, of_order = things(organizer, schema)
        ids |= made
        secret = of_order if {"clientSecret": []} in operation["security"] else None
    needed = SCHEMAS[schema].get("required", ())
    body = {name: ids.get(name, example[name]) for name in needed} | BODY_TOO.get(schema, {})
    status = 404 if schema in NOT_FOUND else REFUSED_LATER.get(schema)
    status = status or min(int(each) for each in operation["responses"] if each[0] == "2")
    return Door(method, path.format(**ids), body, status, secret)


def things(organizer: Organizer, schema: str) -> tuple[dict[str, str], str]:
    """Return the ids of what there is, of which the event is a draft, and the order's secret."""
    draft = organizer.event(status="draft")
    status = "draft" if schema == "Status" else "published"
    ticket = organizer.ticket(draft, status=status, capacity=None)
    order = organizer.buyer(organizer.ticket(**({} if schema == "ChainChoice" else FREE))).intent
    seat = organizer.ticket(**FREE, transferable=schema != "TransferCreate")
    (admission,) = organizer.buyer(seat).purchase().json["admissions"]
    if schema == "MemberInvite":
        invite(organizer, "a@b.io")
    ids = one_of_each(organizer) | made_for(organizer, draft["id"], ticket["id"])
    ids |= {"event_id": draft["id"], "ticket_id": ticket["id"]}
    return ids | {"intent_id": order["id"], "admission_id": admission["id"]}, order["client_secret"]


NEEDED = {
    "max_price_amount": {"free_price": True},
    "deposit_amount": {"price_amount": 5_000_000},
}
"""What a field needs beside it."""


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
            answer = send(acme, to, {**NEEDED.get(field, {}), field: value})
            assert answer.status_code == to.status, (field, value, answer.json)
            if to.status == 200 and (inner := field.partition(".")[2]):
                assert answer.json["holder"][inner] == value
            if to.status < 300 and field in answer.json and field != "holder":
                is_default = value is None and field in SHOWN_AS_DEFAULT
                assert is_default or answer.json[field] == shown(field, value)


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
    admin, ids = acme.api(), one_of_each(acme)
    known = {**ids, "chain_id": "31337", "payer": EXAMPLE_PAYER}
    for path, parameters in QUERIES.items():
        here, asked = path.format(**ids), OPERATIONS["GET", path]["parameters"]
        needed = {
            each["name"]: known[each["name"]]
            for each in asked
            if each["in"] == "query" and each.get("required")
        }
        for name, (inside, outside) in parameters.items():
            for value in inside:
                answer = admin.get(here, query_string={**needed, name: value})
                assert answer.status_code == 200, (here, name, value)
            for value in outside:
                refused = admin.get(here, query_string={**needed, name: value})
                assert refused.status_code == 422, (here, name, value)
                assert refused.json["errors"].keys() == {name}


def test_no_field_and_no_parameter_is_without_its_case(api):
    """The service's document has no others. Each has a value that it refuses."""
    document = api.get("/openapi.json").json
    schemas = document["components"]["schemas"]

    def fields_of(name, prefix=""):
        for field, of in schemas[name]["properties"].items():
            yield prefix + field
            if "$ref" in of:
                yield from fields_of(of["$ref"].rsplit("/", 1)[1], f"{field}.")

    bodies, queries = {}, {}
    for (_, path), operation in operations_of(document).items():
        content = operation.get("requestBody", {}).get("content", {})
        if "application/json" in content:  # not a picture
            name = content["application/json"]["schema"]["$ref"].rsplit("/", 1)[1]
            bodies[name] = set(fields_of(name))
        asked = {each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"}
        if asked:
            queries[path] = asked
    assert bodies == {name: set(fields) for name, fields in CASES.items()}
    assert queries == {path: set(parameters) for path, parameters in QUERIES.items()}
    cases = [values for of in (CASES, QUERIES) for each in of.values() for values in each.values()]
    assert all(outside for _, outside in cases)


def test_what_is_written_by_hand_is_for_a_field_that_there_is():
    names = {f"{schema}.{field}" for schema, fields in CASES.items() for field in fields}
    names |= {f"{path} {name}" for path, parameters in QUERIES.items() for name in parameters}
    by_hand = {*TAKEN, *TAKEN_TOO, *REFUSED_TOO}
    assert not {each for each in by_hand if not fnmatch.filter(names, each)}
    assert NOT_FOUND | REFUSED_LATER.keys() | BODY_TOO.keys() <= CASES.keys()
