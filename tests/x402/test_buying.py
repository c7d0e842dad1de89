"""An order and its payment: what is asked for, and what is answered."""

import pytest

from tests.support.factories import PRICE
from tests.support.relayer import held
from tests.support.x402 import TOKEN, decoded, required
from tests.x402.conftest import ORIGIN
from ticketing.chain.address import checksum
from tools import anvil

pytestmark = pytest.mark.sql


def test_a_price_says_what_to_sign(api, path, acme, ticket):
    answer = api.post(path)
    assert (answer.status_code, answer.json["code"]) == (402, "payment_required")
    assert answer.content_type == "application/problem+json"
    asked = required(answer)
    claim = asked["accepts"][0]["extra"].pop("claim")
    assert asked.pop("extensions").keys() == {"bazaar"}
    assert claim.startswith("p_")
    address = asked["accepts"][0].pop("payTo")
    assert address == checksum(address)
    assert asked == {
        "x402Version": 2,
        "error": "PAYMENT-SIGNATURE header is required. This costs 5.00 USDC: raise your client's"
        " spend limit (default $1).",
        "resource": {
            "url": f"https://tickets.example.org{path}",
            "description": "Launch Night, General admission, 1 x 5.00 USDC",
            "mimeType": "application/json",
            "serviceName": "Acme",
            "tags": ["tickets", "events"],
        },
        "accepts": [
            {
                "scheme": "exact",
                "network": "eip155:31337",
                "amount": str(PRICE),
                "asset": anvil.TOKEN_ADDRESS,
                "maxTimeoutSeconds": asked["accepts"][0]["maxTimeoutSeconds"],
                "extra": {"name": "USD Coin", "version": "2"},
            }
        ],
    }
    assert 290 <= asked["accepts"][0]["maxTimeoutSeconds"] <= 300
    assert acme.stock(ticket) == (0, 0)


@pytest.mark.parametrize("quantity", [1, 2])
def test_the_same_request_with_a_payment_buys(
    api, path, wallet, facilitator, acme, ticket, node, quantity
):
    asked = required(api.post(path, {"quantity": quantity}))
    address = asked["accepts"][0]["payTo"]
    answer = api.post(path, {"quantity": quantity}, headers=wallet.header(asked))
    assert answer.status_code == 200, answer.json
    assert answer.json["status"] == "confirmed"
    assert len({each["code"] for each in answer.json["admissions"]}) == quantity
    assert answer.json["address"] == address and answer.json["client_secret"]
    receipt = decoded(answer.headers["PAYMENT-RESPONSE"])
    (logged,) = node.rpc(
        "eth_getLogs",
        {"address": anvil.TOKEN_ADDRESS, "topics": [None, None, f"0x{address[2:].lower():0>64}"]},
    )
    assert receipt == {
        "success": True,
        "transaction": logged["transactionHash"],
        "network": "eip155:31337",
        "payer": wallet.address,
    }
    assert held(node, address) == quantity * PRICE
    assert acme.stock(ticket) == (0, quantity)


def test_the_facilitator_never_sees_the_claim(api, path, wallet, facilitator):
    asked = required(api.post(path))
    claim = asked["accepts"][0]["extra"]["claim"]
    assert api.post(path, headers=wallet.header(asked)).status_code == 200
    (request,) = facilitator.asked
    assert claim not in str(request) and claim[2:] not in str(request)
    assert set(facilitator.authorized) == {f"Bearer {TOKEN}"}
    assert request["x402Version"] == 2
    assert request["paymentRequirements"] == request["paymentPayload"]["accepted"]


def test_the_offer_is_free_and_reserves_nothing(api, path, acme, ticket):
    answer = api.get(path)
    assert (answer.status_code, answer.json["code"]) == (402, "payment_required")
    offer = answer.json["offer"]
    assert offer["unit_amount"] == PRICE
    assert (offer["network"], offer["asset"]) == ("eip155:31337", anvil.TOKEN_ADDRESS)
    assert "spend limit" in offer["how_to_buy"]
    assert acme.stock(ticket) == (0, 0)


def test_a_free_ticket_is_sold_at_once(api, acme, path):
    free = acme.ticket(price_amount=0, chain_id=None, capacity=100)
    path = path.rpartition("/tickets/")[0] + f"/tickets/{free['id']}/orders"
    answer = api.post(path)
    assert answer.status_code == 200
    assert answer.json["admissions"][0]["code"]
    assert "PAYMENT-RESPONSE" not in answer.headers
    assert api.get(path).json["network"] is None


def test_a_client_that_cannot_sign_pays_by_a_transfer(api, path, node, acme, ticket):
    body = {"event_id": ticket["event_id"], "ticket_id": ticket["id"]}
    preflight = api.post(path).json["preflight_url"].removeprefix(ORIGIN)
    intent = api.post(preflight, body).json
    anvil.transfer(node.rpc, anvil.TOKEN_ADDRESS, intent["address"], intent["atomic_amount"])
    purchase = f"{acme.checkout}/intents/{intent['id']}/purchase"
    headers = {"Authorization": f"Bearer {intent['client_secret']}"}
    assert api.post(purchase, headers=headers).status_code == 200


def test_sold_out_comes_before_402(api, acme, path):
    few = acme.ticket(capacity=1, max_per_order=1)
    acme.buyer(few)
    path = path.rpartition("/tickets/")[0] + f"/tickets/{few['id']}/orders"
    answer = api.post(path)
    assert (answer.status_code, answer.json["code"]) == (409, "sold_out")


def test_while_it_is_not_deep_enough_the_answer_is_202(three_deep, api, path, wallet, node):
    payment = wallet.header(required(api.post(path)))
    answer = api.post(path, headers=payment)
    assert answer.status_code == 202, answer.json
    assert answer.json["status"] == "processing" and answer.json["admissions"] == []
    assert "PAYMENT-RESPONSE" not in answer.headers
    assert 0 < int(answer.headers["Retry-After"]) <= 60
    headers = {"Authorization": f"Bearer {answer.json['client_secret']}"}
    assert api.get(answer.headers["Location"], headers=headers).json["status"] == "processing"
    node.rpc("anvil_mine", "0x2")
    assert api.post(path, headers=payment).status_code == 200


def test_an_agent_signs_the_whole_amount_although_less_would_be_accepted(
    api, path, wallet, facilitator, acme, ticket
):
    admin = acme.with_headers({"X-API-Key": acme.admin_key})
    assert admin.patch(acme.path, {"payment_tolerance_percent": 5}).status_code == 200
    asked = api.post(path)
    assert required(asked)["accepts"][0]["amount"] == str(PRICE)
    assert "toleran" not in asked.text
