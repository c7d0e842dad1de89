"""The service against its own OpenAPI document: schemathesis with every role and every check."""

import os
import random
import sys

import pytest

from tests.support import fuzzing
from tests.support.databases import only_once
from tests.support.fuzzing import IN_WORDS
from tests.support.fuzzing_shop import open_shop
from ticketing.roles import LADDER

pytestmark = pytest.mark.long

SECONDS = int(os.environ.get("FUZZ_SECONDS", "30"))
"""How long the long fuzz runs in all."""

CREDENTIALS = [*(role.value for role in LADDER), "client secret", "none"]
BODIES = (
    "EventCreate",
    "EventCopy",
    "CrowdsChange",
    "Crowd",
    "MessageCreate",
    "TicketTypeCreate",
    "Preflight",
    "Buyer",
    "WalletSet",
    "RefundAddress",
    "PayerReport",
    "RefundSettle",
    "RefundsSettle",
    "PayoutCreate",
    "EventStatusChange",
    "Scan",
    "DoorDeviceCreate",
    "WebhookCreate",
    "WebhookResend",
    "TenantChange",
    "MemberInvite",
    "InvitationAccept",
    "QuestionCreate",
    "VoucherCreate",
    "HolderChange",
)
WITHOUT_FACILITATOR = {
    "GET /v1/x402/tenants/{tenant}/tickets/{ticket_id}/orders",
    "GET /v1/x402/tenants/{tenant}/events/{event_id}/orders",
    "GET /v1/checkout/tenants/{tenant}/intents/{intent_id}/gasless",
}
"""Refused in this shop: they need a facilitator. tests/x402 has them."""
RUNS = 2 * len(CREDENTIALS)


@pytest.fixture
def shop(app, acme, node):
    return open_shop(acme, node)


@pytest.fixture
def environ(environ):
    """The configuration of a run of many hours."""
    return {**environ, "TOKEN_TTL_SECONDS": "86400"}


def headers_of(shop, credential):
    if credential == "none":
        return {}
    if credential == "client secret":
        return {"Authorization": f"Bearer {shop.paid.intent['client_secret']}"}
    if credential == "admin":
        return shop.admin.headers
    if credential == "paywall":
        return shop.acme.api(credential).headers
    return {"X-API-Key": shop.acme.key(credential)}


@only_once
@pytest.mark.parametrize("credential", ["admin", "none"])
def test_no_answer_and_no_request_is_outside_the_document(shop, credential):
    fuzz(shop, credential, seed=1, examples=4 if credential == "admin" else 2)


@pytest.mark.parametrize("credential", CREDENTIALS)
def test_nor_is_any_where_more_is_tried_at_random(shop, credential):
    seed = random.SystemRandom().getrandbits(32)
    fuzz(shop, credential, seed=seed, examples=200, seconds=SECONDS // RUNS)


def fuzz(shop, credential, *, seed, examples, seconds=None):
    sys.stderr.write(f"\n{credential}, seed {seed}\n")
    headers = headers_of(shop, credential)
    if credential == "client secret":
        shop.known["path.intent_id"] = [shop.paid.intent["id"]]
    config = fuzzing.configuration(
        shop.known, headers, seed=seed, examples=examples, seconds=seconds
    )
    only = "/checkout/.*/intents/" if credential == "client secret" else ""
    found = fuzzing.run(shop, config, only=only)
    assert not found.failures, "\n".join(fuzzing.failures_of(found))
    # What a run within `seconds` reaches depends on the speed of the machine.
    if credential == "admin" and seconds is None:
        assert found.cases > 1000
        unseen = {
            label
            for label, statuses in found.statuses.items()
            if not any(200 <= status < 300 for status in statuses)
        }
        assert unseen == WITHOUT_FACILITATOR
    assert shop.admin.get(f"{shop.acme.path}/reconciliation").json == {"ok": True, "breaches": []}


def test_what_json_schema_cannot_say_the_document_says_in_words(api):
    document = api.get("/openapi.json").json
    schemas = document["components"]["schemas"]
    described = {
        parameter["name"]
        for item in document["paths"].values()
        for operation in item.values()
        for parameter in operation.get("parameters", ())
        if "description" in parameter
    }
    for name in BODIES:
        properties = schemas[name]["properties"]
        described |= {each for each, of in properties.items() if "description" in of}
    assert all(words in document["info"]["description"] for words in ("1970 to 9999", "fraction"))
    assert {name.removesuffix(".#").rpartition(".")[2] for name in IN_WORDS} <= described
