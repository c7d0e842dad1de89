"""Every field of every request: which values its bounds accept and reject, and the error's name."""

import json
from typing import Any, NamedTuple

import pytest

from tests.support.field_cases import (
    ADDRESS,
    CASES,
    CHECKOUT_QUERIES,
    DOOR_QUERIES,
    NOWHERE,
    PUBLIC_QUERIES,
    QUERIES,
    REQUIRED_IN_QUERIES,
    SCAN,
    SIGNED,
    TX_HASH,
)
from tests.support.field_values import (
    EPOCH,
    EXPONENT,
    GOOD_TIMES,
    SHOWN_AS_DEFAULT,
)
from tests.support.members import first_member, invite
from tests.support.payouts import OWNER_ADDRESS
from tests.support.webhook_endpoints import new_webhook
from ticketing import ids

pytestmark = [pytest.mark.exhaustive, pytest.mark.one_database]


OF_ORDERS = ("RefundAddress", "BillingChange", "PayerReport", "ChainChoice", "EmailChange")
"""Schemas of calls that look for their order before they read the body."""


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

    def free_order():
        """The path and the secret of an order whose link is good."""
        price = {} if schema == "ChainChoice" else {"price_amount": 0}
        order = organizer.buyer(organizer.ticket(**price)).intent
        return f"{organizer.checkout}/intents/{order['id']}", order["client_secret"]

    free, opened = free_order() if schema in OF_ORDERS else ("", None)
    event = {"title": "T", "type": "online", "start_at": EPOCH, "end_at": None, "timezone": "UTC"}
    event |= {"doors_open_at": None, "transfers_end_at": None}
    ticket = {"name": "T", "price_amount": 0, "chain_id": 1, "max_per_order": 100}
    ticket |= {"min_per_order": 1, "sales_start_at": None, "sales_end_at": None}
    ticket |= {"free_price": False, "max_price_amount": None, "deposit_amount": 0}
    of = organizer.event(status="draft")
    events, here = f"{organizer.path}/events", f"{organizer.path}/events/{of['id']}"
    tickets = f"{here}/tickets"
    nothing = {"event_id": "evt_" + "0" * 26, "ticket_id": "tkt_" + "0" * 26}
    nowhere = f"{organizer.path}/events/{nothing['event_id']}/questions"
    asked = {"question": "Q", "type": "text"}
    message = {"subject": "S", "text": "T"}
    hooks = f"{organizer.path}/webhooks"
    hook = {"url": "https://a.example/", "types": ["*"]}

    def webhook():
        return f"{hooks}/{new_webhook(organizer).id}"

    vouchers = {"max_usages": 100_000}

    def voucher():
        return f"{here}/vouchers/{organizer.api().post(f'{here}/vouchers', {}).json['id']}"

    def device():
        made = organizer.api().post(f"{here}/door-devices", {"name": "d"})
        return f"{here}/door-devices/{made.json['id']}"

    def invited(email):
        return invite(organizer, email)["email"]

    return {
        "TenantChange": lambda: Door("PATCH", organizer.path, {}),
        "EventCreate": lambda: Door("POST", events, event, 201),
        "EventChange": lambda: Door("PATCH", here, event),
        "EventCopy": lambda: Door(
            "POST", f"{events}/{nothing['event_id']}/copy", {"starts": ["2031-06-01T20:00"]}, 404
        ),
        "CrowdsChange": lambda: Door("PUT", f"{here}/crowds", {"crowds": []}),
        "SeriesChange": lambda: Door("PATCH", f"{organizer.path}/series/none", {}, 404),
        "MessagePreview": lambda: Door(
            "POST", f"{events}/{nothing['event_id']}/messages/preview", message, 404
        ),
        # Without a mail server it is refused after its fields were accepted.
        "MessageCreate": lambda: Door("POST", f"{here}/messages", message, 409),
        "TicketTypeCreate": lambda: Door("POST", tickets, ticket, 201),
        "TicketTypeChange": lambda: Door(
            "PATCH", f"{tickets}/{organizer.ticket(of)['id']}", ticket
        ),
        "Status": lambda: Door(
            "POST", f"{tickets}/{organizer.ticket(of, status='draft')['id']}/status", {}
        ),
        "EventStatusChange": lambda: Door("POST", f"{here}/status", {"status": "canceled"}),
        "VoucherCreate": lambda: Door("POST", f"{here}/vouchers", vouchers, 201),
        "VoucherBatchCreate": lambda: Door(
            "POST", f"{here}/vouchers/batch", {**vouchers, "count": 1}, 201
        ),
        "VoucherChange": lambda: Door("PATCH", voucher(), vouchers),
        "X402Order": lambda: Door(
            "POST",
            f"/v1/x402/tenants/{organizer.slug}/tickets/{nothing['ticket_id']}/orders",
            {},
            404,
        ),
        "X402EventOrder": lambda: Door(
            "POST",
            f"/v1/x402/tenants/{organizer.slug}/events/{nothing['event_id']}/orders",
            {"items": [{"ticket_id": nothing["ticket_id"]}]},
            404,
        ),
        "Preflight": lambda: Door("POST", f"{organizer.checkout}/preflight", nothing, 404),
        "HolderChange": lambda: Door("PATCH", held(), {"holder": {}}),
        "AnswersChange": lambda: Door(
            "PATCH", f"{organizer.path}/admissions/{ids.ADMISSION}{'0' * 26}", {}, 404
        ),
        # Of an unknown event, because one event has at most 20 questions.
        "QuestionCreate": lambda: Door("POST", nowhere, asked, 404),
        "QuestionChange": lambda: Door("PATCH", f"{nowhere}/{ids.QUESTION}{'0' * 26}", {}, 404),
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
        # A second one with this address is refused after its fields were accepted.
        "MemberInvite": lambda: Door(
            "POST", f"{organizer.path}/members", {"email": invited("a@b.io"), "role": "read"}, 409
        ),
        "MemberChange": lambda: Door(
            "PATCH", f"{organizer.path}/members/{first_member(organizer)}", {"role": "read"}
        ),
        "InvitationAccept": lambda: Door(
            "POST", "/v1/auth/invitation", {"invitation": "x", "password": "x" * 12}, 404
        ),
        "KeyExchange": lambda: Door("POST", "/v1/auth/token", {}, 401),
        "Login": lambda: Door(
            "POST", "/v1/auth/login", {"tenant": "t", "email": "e@x.io", "password": "p"}, 401
        ),
        "RefundSettle": lambda: Door(
            "POST", f"{organizer.path}/refunds/{NOWHERE}/settle", TX_HASH, 404
        ),
        # No order is due on this chain.
        "RefundsSettle": lambda: Door(
            "POST", f"{organizer.path}/refunds/settle", {**TX_HASH, "chain_id": 1}
        ),
        # A chain that is not enabled is refused after the fields were accepted.
        "PayoutCreate": lambda: Door(
            "POST", f"{organizer.path}/payouts", {"chain_id": 1, "payer": ADDRESS}, 422
        ),
        "RefundWaive": lambda: Door(
            "POST",
            f"{organizer.path}/refunds/{NOWHERE}/waive",
            {"amount": 1, "reason": "x"},
            404,
        ),
        "RefundPayee": lambda: Door(
            "PUT",
            f"{organizer.path}/refunds/{NOWHERE}/payee",
            {"address": ADDRESS, "reason": "x"},
            404,
        ),
        "RefundByHand": lambda: Door(
            "POST", f"{organizer.path}/refunds/{NOWHERE}/by-hand", {"by_hand": True}, 404
        ),
        "RefundPassOver": lambda: Door(
            "POST",
            f"{organizer.path}/refunds/{NOWHERE}/pass-over",
            {"payer": ADDRESS, "payment_id": TX_HASH["tx_hash"], "reason": "x"},
            404,
        ),
        "RefundsWaive": lambda: Door(
            "POST", f"{organizer.path}/refunds/waive", {"max_amount": 1, "reason": "x"}
        ),
        "BillingChange": lambda: Door(
            "POST",
            f"{free}/billing",
            {},
            200,
            opened,
        ),
        "EmailCorrection": lambda: Door(
            "POST",
            f"{organizer.path}/intents/{NOWHERE}/email",
            {"email": "ada@example.org"},
            404,
        ),
        "EmailChange": lambda: Door(
            "POST",
            f"{free}/email",
            {"email": "ada@example.org"},
            409,
            opened,
        ),
        "SignedTransfer": lambda: Door(
            "POST", f"{organizer.checkout}/intents/{NOWHERE}/gasless", SIGNED, 404
        ),
        "RefundAddress": lambda: Door(
            "POST",
            f"{free}/refund-address",
            {"address": ADDRESS},
            409,
            opened,
        ),
        "PayerReport": lambda: Door(
            "POST",
            f"{free}/payers",
            {"account": ADDRESS, **TX_HASH, "chain_id": 1},
            404,
            opened,
        ),
        "ChainChoice": lambda: Door(
            "POST",
            f"{free}/chain",
            {},
            422,
            opened,
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
        # With an API key it is refused after its fields were accepted.
        "BoxOfficeOrder": lambda: Door(
            "POST",
            f"/v1/door/tenants/{organizer.slug}/events/{of['id']}/box-office/orders",
            {"ticket_id": "x"},
            403,
        ),
        "Release": lambda: Door(
            "POST", f"{organizer.path}/events/{nothing['event_id']}/deposits/release", {}, 404
        ),
        "Join": lambda: Door(
            "POST",
            f"{organizer.checkout}/waiting-list",
            {**nothing, "email": "ada@example.org"},
            404,
        ),
        "DoorDeviceRevoke": lambda: Door("POST", f"{device()}/revoke", {}),
        "Pair": lambda: Door("POST", "/v1/door/pair", {}, 401),
        "Scans": lambda: Door(
            "POST",
            f"/v1/door/tenants/{organizer.slug}/events/{of['id']}/scans",
            {"sent_at": EPOCH, "scans": [SCAN]},
        ),
        "WebhookCreate": lambda: Door("POST", hooks, hook, 201),
        "WebhookChange": lambda: Door("PATCH", webhook(), {}),
        "WebhookRotate": lambda: Door("POST", f"{webhook()}/rotate", {}),
        "WebhookEnable": lambda: Door("POST", f"{webhook()}/enable", {}),
        "WebhookResend": lambda: Door("POST", f"{hooks}/{ids.WEBHOOK_ENDPOINT}/resend", {}, 404),
        "WalletSet": lambda: Door("PUT", f"{organizer.path}/wallet", {"address": OWNER_ADDRESS}),
    }[schema]()


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
                expected = (
                    GOOD_TIMES.get(value, value) if field.endswith(("_at", "_until")) else value
                )
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
    ids = {"event_id": event["id"], "webhook_id": new_webhook(acme).id}
    ids |= {"intent_id": acme.buyer(acme.ticket()).intent["id"]}
    code = admin.post(f"{acme.path}/events/{event['id']}/vouchers", {}).json["code"]
    at_door = f"/v1/door/tenants/{acme.slug}/events/{event['id']}"
    surfaces = (
        (acme.path, QUERIES),
        (acme.public, PUBLIC_QUERIES),
        (acme.checkout, CHECKOUT_QUERIES),
        (at_door, DOOR_QUERIES),
    )
    for base, queries in surfaces:
        for path, parameters in queries.items():
            here, needed = base + path.format(**ids), REQUIRED_IN_QUERIES.get(path, {})
            needed = {"voucher": code} if "voucher" in parameters else needed
            for name, (inside, outside) in parameters.items():
                for value in inside:
                    assert admin.get(here, query_string={name: value}).status_code == 200, value
                for value in outside:
                    refused = admin.get(here, query_string={**needed, name: value})
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
                content = operation["requestBody"]["content"]
                if "application/json" not in content:
                    continue  # a picture
                taken = content["application/json"]["schema"]
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
        for surface, of in (
            ("admin", QUERIES),
            ("public", PUBLIC_QUERIES),
            ("checkout", CHECKOUT_QUERIES),
        )
        for path, parameters in of.items()
    }
    expected |= {
        f"/v1/door/tenants/{{tenant}}/events/{{event_id}}{path}": set(parameters)
        for path, parameters in DOOR_QUERIES.items()
    }
    assert queries == expected
