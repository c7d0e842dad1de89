"""The service against its own OpenAPI document: schemathesis with every role and every check."""

import os
import random
import sys

import pytest

from tests.support import fuzzing
from tests.support.databases import only_once
from tests.support.fuzzing import IN_WORDS
from tests.support.fuzzing_shop import open_shop
from tests.support.json_schema import resolve
from tests.support.routes import operations_of
from ticketing.roles import LADDER

pytestmark = pytest.mark.long

SECONDS = int(os.environ.get("FUZZ_SECONDS", "30"))
"""How long the long fuzz runs in all."""

CREDENTIALS = [*(role.value for role in LADDER), "client secret", "none"]
NOT_IN_WORDS = {
    "address": {"BillingChange"},
    "chain_id": {"ChainChoice", "RefundsSettle"},
    "email": {"Login"},
    "holder": {"TransferAccept", "TransferCreate"},
    "quantity": {"BoxOfficeOrder", "WantedItem", "X402Order"},
    "ticket_id": {"BoxOfficeOrder", "Join", "WantedItem"},
    "value": {"SignedTransfer"},
}
"""Where a field has another meaning, or its name says enough."""
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
    assert all(words in document["info"]["description"] for words in ("1970 to 9999", "fraction"))
    names = {name.removesuffix(".#").rpartition(".")[2] for name in IN_WORDS}
    found, sent = set(), {}
    for operation in operations_of(document).values():
        for parameter in operation.get("parameters", ()):
            if "description" in parameter:
                found.add(parameter["name"])
        sent |= sent_in(document, operation.get("requestBody", {}))
    for schema, properties in sent.items():
        for name in names & properties.keys():
            is_said = "description" in properties[name]
            assert is_said is (schema not in NOT_IN_WORDS.get(name, ())), (schema, name)
            found |= {name} if is_said else set()
    assert names <= found


def sent_in(document, node):
    """Return the fields of each schema in a part of the document."""
    inside = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    found = {name: of for each in inside for name, of in sent_in(document, each).items()}
    if isinstance(node, dict) and "$ref" in node:
        schema = resolve(document, {"$ref": node["$ref"]})
        name = node["$ref"].rpartition("/")[2]
        found |= {name: schema["properties"], **sent_in(document, schema)}
    return found
