"""A client of an older version buys and manages one ticket type, and notices nothing new.

It knows the OpenAPI document of 92d74e3. So it sends `ticket_id` and `quantity`, and each answer
must have what that document requires, of the types that it says. More fields may be there: a client
that was generated from the document (openapi-python-client 0.29) drops them.

The document was written by that version with every surface open, as tests/api/test_openapi.py does:

    curl -s localhost:8000/openapi.json | xz -9e > tests/api/openapi_92d74e3.json.xz
"""

import json
import lzma
import uuid
from pathlib import Path

import pytest

from tests.support.databases import only_once
from tests.support.doors import OPEN, moment, redeem
from tests.support.factories import PRICE, Api, in_days, worker_once
from tests.support.json_schema import check
from tests.support.webhook_endpoints import new_webhook
from tests.support.x402 import Facilitator
from tools import anvil

pytestmark = only_once

DOCUMENT = json.loads(
    lzma.decompress((Path(__file__).parent / "openapi_92d74e3.json.xz").read_bytes())
)
OPERATIONS = {
    operation["operationId"]: (method.upper(), path, operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
}
TYPES = DOCUMENT["components"]["schemas"]["Notification"]["properties"]["type"]["enum"]
XPUB_ONLY = set()
HOLDERS_AND_DOORS = ("/v1/checkout/", "/v1/door/")
NOT_JSON = ("text/csv", "text/calendar")


class OlderClient:
    """Calls operations by their id, and checks what it sends and gets by the document."""

    def __init__(self, api: Api, **known: str) -> None:
        self.called: set[str] = set()
        self._api, self._known = api, known

    def with_headers(self, headers: dict[str, str]) -> "OlderClient":
        other = OlderClient(Api(self._api.client, headers), **self._known)
        other.called = self.called
        return other

    def call(self, name, body=None, **values):
        """Return the JSON of a successful call."""
        method, path, operation = OPERATIONS[name]
        options = {}
        if body is not None:
            ((_, sent),) = operation["requestBody"]["content"].items()
            check(DOCUMENT, sent["schema"], body, name)
            options["json"] = body
        if method == "POST" and "/door/" not in path:
            options["headers"] = {"Idempotency-Key": str(uuid.uuid4())}
        headers = {**(self._api.headers or {}), **options.pop("headers", {})}
        url = path.format(**self._known, **values)
        answer = self._api.client.open(url, method=method, headers=headers, **options)
        said = operation["responses"].get(str(answer.status_code))
        assert answer.status_code < 300 and said, (name, answer.status_code, answer.text)
        self.called.add(name)
        ((kind, content),) = said["content"].items()
        assert answer.mimetype == kind, name
        if kind in NOT_JSON:
            return answer.text
        found = answer.json
        if name == "notifications_list_notifications":
            # The document says that there may be new types: it leaves out what it does not know.
            found = {**found, "data": [each for each in found["data"] if each["type"] in TYPES]}
        check(DOCUMENT, content["schema"], found, name, more=True)
        return found


@pytest.fixture
def facilitator():
    with Facilitator() as running:
        yield running


@pytest.fixture
def environ(environ, facilitator):
    """A configuration with which every surface is open, and payments count at once."""
    x402 = {"X402_FACILITATOR_URL_31337": facilitator.url, "PUBLIC_URL": "https://t.example.org"}
    return environ | x402 | {"CONFIRMATIONS_31337": "1"}


@pytest.fixture
def anybody(api, acme):
    """The client, without a credential."""
    return OlderClient(api, tenant=acme.slug)


@pytest.fixture
def organizer(anybody, acme):
    """The client with the organizer's key."""
    return anybody.with_headers({"X-API-Key": acme.admin_key})


def bearer(secret):
    return {"Authorization": f"Bearer {secret}"}


def ordered(anybody, ticket, quantity):
    """The order of a storefront that knows one ticket type, and its client with the secret."""
    body = {"event_id": ticket["event_id"], "ticket_id": ticket["id"], "quantity": quantity}
    body |= {"buyer": {"email": "ada@example.org", "name": "Ada"}}
    made = anybody.call("checkout_preflight", body)
    assert (made["ticket_id"], made["quantity"]) == (ticket["id"], quantity)
    assert made["unit_amount"] * quantity == made["amount"]
    return made, anybody.with_headers(bearer(made["client_secret"]))


def test_an_older_client_sells_admits_refunds_and_reads_all_that_it_knows(
    acme, anybody, organizer, node
):
    event = organizer.call(
        "events_create_event",
        {
            "title": "Launch",
            "type": "in_person",
            "venue": "Hall",
            "start_at": in_days(OPEN),
            "timezone": "Europe/Berlin",
            "status": "published",
        },
    )
    price = {"name": "Seat", "price_amount": PRICE, "chain_id": 31337, "status": "published"}
    ticket = organizer.call("ticket_types_create_ticket_type", price, event_id=event["id"])
    free = organizer.call(
        "ticket_types_create_ticket_type",
        {"name": "Free", "price_amount": 0, "status": "published"},
        event_id=event["id"],
    )
    webhook = new_webhook(acme)

    # A storefront.
    anybody.call("public_list_public_events")
    anybody.call("public_get_public_event", event_id=event["id"])
    shown = anybody.call("public_list_public_ticket_types", event_id=event["id"])["data"]
    assert {each["id"] for each in shown} == {ticket["id"], free["id"]}
    intent, buyer = ordered(anybody, ticket, 3)
    worker_once(acme.app)
    anvil.transfer(node.rpc, intent["token_address"], intent["address"], intent["atomic_amount"])
    worker_once(acme.app)
    assert buyer.call("checkout_get_checkout_intent", intent_id=intent["id"])["ticket_id"]
    bought = buyer.call("checkout_purchase", intent_id=intent["id"])
    assert bought["status"] == "confirmed" and len(bought["admissions"]) == 3
    unpaid, other = ordered(anybody, ticket, 2)
    other.call("checkout_cancel", intent_id=unpaid["id"])
    given, guest = ordered(anybody, free, 1)
    guest.call("checkout_purchase", intent_id=given["id"])
    seat = bought["admissions"][0]
    holder = anybody.with_headers(bearer(seat["code"]))
    holder.call("holders_get_held_admission", admission_id=seat["id"])
    holder.call("holders_name_holder", {"holder": {"name": "Bob"}}, admission_id=seat["id"])

    # The door.
    devices = {"name": "Phone", "gate": "North"}
    device = organizer.call("door_devices_create_door_device", devices, event_id=event["id"])
    paired = anybody.call("pairing_pair_door_device", {"pairing_code": device["pairing_code"]})
    gate = anybody.with_headers(bearer(paired["token"]))
    scans = {"sent_at": moment(), "scans": [redeem(qr=bought["admissions"][1]["qr"])]}
    results = gate.call("door_scan", scans, event_id=event["id"])["results"]
    assert results[0]["outcome"] == "admitted"
    assert gate.call("door_read_manifest", event_id=event["id"])
    assert gate.call("door_read_stats", event_id=event["id"])

    # The organizer.
    voided = {"reason": "Asked for.", "refund": True}
    organizer.call("admissions_void_admission", voided, admission_id=seat["id"])
    guests = {"holders": [{"name": "Grace"}]}
    where = {"event_id": event["id"], "ticket_id": ticket["id"]}
    organizer.call("admissions_add_guests", guests, **where)
    webhook.done("test")
    key = organizer.call("api_keys_list_api_keys")["data"][0]
    ids = {**where, "intent_id": intent["id"], "key_id": key["id"], "webhook_id": webhook.id}
    ids |= {"admission_id": seat["id"]}
    # It reads all that it knows, and no list is empty.
    for name, (method, path, _) in OPERATIONS.items():
        if method == "GET" and not path.startswith(HOLDERS_AND_DOORS) and name not in XPUB_ONLY:
            answer = organizer.call(name, **ids)
            assert isinstance(answer, str) or answer.get("data") != [], name
    detail = organizer.call("intents_get_intent", intent_id=intent["id"])
    assert (detail["ticket_id"], detail["unit_amount"]) == (ticket["id"], PRICE)
    types = {each["type"] for each in organizer.call("notifications_list_notifications")["data"]}
    assert {"intent.confirmed", "admission.voided"} <= types
    left = {name for name, (method, *_) in OPERATIONS.items() if method == "GET"} - anybody.called
    assert left == XPUB_ONLY
