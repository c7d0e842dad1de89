"""buy_ticket: x402 inside MCP, by the same service calls as over HTTP."""

import json
from uuid import uuid4

import pytest

from tests.support.databases import only_once
from tests.support.factories import PRICE, Api, worker_once
from tests.support.mcp import call, message, refused
from tests.support.payouts import with_address
from tests.support.x402 import Wallet

pytestmark = only_once

TOOL = "buy_ticket"


@pytest.fixture
def api(app):
    """Anybody, at the public address: MCP answers nowhere else."""
    return Api(app.test_client(), {"Host": "tickets.example.org"})


@pytest.fixture
def venue(app, node):
    return with_address(app, node)


@pytest.fixture
def wanted(venue):
    ticket = venue.ticket(capacity=100)
    worker_once(venue.app)
    return {"tenant": venue.slug, "event_id": ticket["event_id"], "ticket_id": ticket["id"]}


def paid(api, payment, **arguments):
    params = {"name": TOOL, "arguments": arguments, "_meta": {"x402/payment": payment}}
    return api.post("/mcp", message("tools/call", params)).json["result"]


def names(api):
    answer = api.post("/mcp", message("tools/list"))
    return [each["name"] for each in answer.json["result"]["tools"]]


def test_a_wallet_pays_in_the_call(api, wanted, wallet):
    asked = refused(api, TOOL, **wanted, quantity=2)
    (accepted,) = asked["accepts"]
    assert (asked["x402Version"], accepted["amount"]) == (2, str(2 * PRICE))
    result = paid(api, wallet.payment(asked), **wanted, quantity=2)
    sale, receipt = result["structuredContent"], result["_meta"]["x402/payment-response"]
    assert sale["status"] == "confirmed" and len(sale["admissions"]) == 2
    assert (receipt["success"], receipt["payer"]) == (True, wallet.address)
    again = paid(api, wallet.payment(asked), **wanted, quantity=2)
    assert again["structuredContent"]["admissions"] == sale["admissions"]


def test_the_text_has_the_wrapper_of_the_specification(api, wanted):
    params = {"name": TOOL, "arguments": wanted}
    result = api.post("/mcp", message("tools/call", params)).json["result"]
    (content,) = result["content"]
    wrapped = json.loads(content["text"])["x402/error"]
    assert (wrapped["code"], result["isError"]) == (402, True)
    assert wrapped["data"]["accepts"] == result["structuredContent"]["accepts"]


def test_a_key_is_one_order_on_both_surfaces(api, wanted, venue, wallet):
    key = uuid4().hex
    asked = refused(api, TOOL, **wanted, idempotency_key=key)
    sale = paid(api, wallet.payment(asked), **wanted, idempotency_key=key)["structuredContent"]
    path = f"/v1/x402/tenants/{venue.slug}/events/{wanted['event_id']}/orders"
    items = [{"ticket_id": wanted["ticket_id"]}]
    over_http = api.post(path, {"items": items}, headers={"Idempotency-Key": key})
    assert over_http.json["admissions"] == sale["admissions"]
    assert call(api, TOOL, **wanted, idempotency_key=key)["admissions"] == sale["admissions"]


@pytest.mark.parametrize("payment", [1, "", [], {}, {"x402Version": 2}, {"x402Version": 1}])
def test_what_is_no_payment_is_refused(api, wanted, payment):
    result = paid(api, payment, **wanted)
    assert result["isError"] and result["structuredContent"]["code"] == "invalid_payment"


def test_refusals_are_problems(api, wanted):
    assert refused(api, TOOL, **{**wanted, "ticket_id": "nothing"})["code"] == "not_found"
    assert refused(api, TOOL, **wanted, max_amount=1)["code"] == "over_max_amount"
    assert refused(api, TOOL, **wanted, chain_id=1)["code"] == "invalid_request"
    poor = Wallet("0x" + "7a" * 32)
    asked = refused(api, TOOL, **wanted)
    again = paid(api, poor.payment(asked), **wanted)
    assert again["isError"] and "does not have the money" in again["structuredContent"]["error"]


def test_it_is_listed_where_a_facilitator_is(api, wanted, facilitator):
    assert TOOL in names(api)
