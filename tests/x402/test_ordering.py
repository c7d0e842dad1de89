"""The first request: Idempotency-Key, the share of holds, and where x402 is not enabled."""

from datetime import timedelta

import pytest

from tests.support.factories import in_days
from tests.support.x402 import required
from ticketing.application import configure
from ticketing.config import load
from ticketing.models.payment_intents import PaymentIntent

KEY = {"Idempotency-Key": "an-order-of-my-agent-" + "0" * 20}


def code(answer):
    return answer.status_code, answer.json["code"]


@pytest.fixture
def paid(api, path, wallet):
    """An order that was paid with KEY."""
    return api.post(path, headers=KEY | wallet.header(required(api.post(path, headers=KEY))))


def test_a_repeat_with_the_key_gets_the_present_state_of_the_order(
    api, path, paid, acme, ticket, facilitator
):
    assert paid.status_code == 200
    repeat = api.post(path, headers=KEY)
    assert repeat.status_code == 200
    assert repeat.json["admissions"] == paid.json["admissions"]
    assert len(facilitator.asked) == 1 and acme.stock(ticket) == (0, 1)


def test_a_repeat_with_the_key_asks_for_the_same_payment_again(
    api, path, make_order, wallet, acme, ticket
):
    order = make_order(path, headers=KEY)
    again = api.post(path, headers=KEY)
    assert code(again) == (402, "payment_required")
    assert again.json["intent"]["id"] == order.json["intent"]["id"]
    assert required(again)["accepts"][0]["extra"] == required(order)["accepts"][0]["extra"]
    assert acme.stock(ticket) == (1, 0)
    assert code(api.post(path, {"quantity": 2}, headers=KEY)) == (422, "idempotency_key_reused")
    assert api.post(path, headers=KEY | wallet.header(required(again))).status_code == 200


def test_nothing_is_sold_of_an_event_that_is_over(api, path, acme, ticket):
    times = {"start_at": in_days(-1), "end_at": in_days(-0.5)}
    here = f"{acme.path}/events/{ticket['event_id']}"
    assert acme.api().patch(here, times).status_code == 200
    assert code(api.post(path, headers=KEY)) == (409, "event_over")
    assert acme.stock(ticket) == (0, 0)


def test_the_key_belongs_to_one_order(api, path, paid, acme):
    assert code(api.post(path, {"quantity": 2}, headers=KEY)) == (422, "idempotency_key_reused")
    other = acme.ticket(capacity=100)["id"]
    elsewhere = f"{path.rpartition('/tickets/')[0]}/tickets/{other}/orders"
    assert code(api.post(elsewhere, headers=KEY)) == (422, "idempotency_key_reused")


def test_a_short_key_could_be_guessed(api, path):
    answer = api.post(path, headers={"Idempotency-Key": "order-1"})
    assert code(answer) == (422, "invalid_request")


def test_a_caller_with_a_credential_has_keys_of_its_own(path, paid, acme):
    integration = acme.with_headers({"X-API-Key": acme.admin_key})
    assert code(integration.post(path, headers=KEY)) == (402, "payment_required")


def test_unpaid_orders_hold_a_tenth_of_a_ticket_type(path, acme, ticket, wallet, facilitator):
    api = acme.with_headers({"X-API-Key": acme.admin_key})

    def order():
        signed = wallet.header(required(api.post(path, {"quantity": 5})))
        return api.post(path, {"quantity": 5}, headers=signed)

    facilitator.mode = "refuse"
    orders = [order() for _ in range(2)]
    assert [each.status_code for each in orders] == [402, 402]
    refused = order()
    assert code(refused) == (409, "x402_share_held") and int(refused.headers["Retry-After"]) > 0
    assert acme.stock(ticket) == (10, 0)
    # All others still order, and a paid order makes room.
    assert acme.preflight(ticket).status_code == 201
    facilitator.mode = "submit"
    header = wallet.header(required(orders[0]))
    assert api.post(path, {"quantity": 5}, headers=header).status_code == 200
    assert order().status_code == 200


def test_the_buyer_limits_the_amount(api, path):
    assert code(api.post(path, {"max_amount": 1})) == (409, "over_max_amount")


def test_the_hold_is_five_minutes(api, path, wallet, facilitator):
    facilitator.mode = "pending"
    assert api.post(path, headers=wallet.header(required(api.post(path)))).status_code == 202
    intent = PaymentIntent.get()
    held = intent.expires_at - intent.created_at
    assert timedelta(seconds=290) <= held <= timedelta(seconds=310)


def without(environ, *names):
    return load({name: value for name, value in environ.items() if name not in names})


@pytest.mark.parametrize("method", ["get", "post"])
def test_without_a_facilitator_it_is_404(app, environ, api, path, acme, method):
    free = acme.ticket(price_amount=0, chain_id=None)["id"]
    names = [name for name in environ if name.startswith("X402_")]
    configure(app, without(environ, *names))
    for each in (path, f"{path.rpartition('/tickets/')[0]}/tickets/{free}/orders"):
        assert code(getattr(api, method)(each)) == (404, "x402_not_enabled")


def test_an_unknown_ticket_type_is_404(api, path, acme):
    draft = acme.ticket(status="draft")["id"]
    for ticket_id in ("nothing", draft):
        url = f"{path.rpartition('/tickets/')[0]}/tickets/{ticket_id}/orders"
        for answer in (api.get(url), api.post(url)):
            assert code(answer) == (404, "not_found")


def test_scripts_of_browsers_may_pay(api, path):
    asked = {"Origin": "https://a.example", "Access-Control-Request-Method": "POST"}
    answer = api.client.options(path, headers=asked)
    allowed = answer.headers["Access-Control-Allow-Headers"].lower().split(", ")
    assert {"payment-signature", "access-control-expose-headers", "idempotency-key"} <= {*allowed}
    exposed = answer.headers["Access-Control-Expose-Headers"].split(", ")
    assert {"PAYMENT-REQUIRED", "PAYMENT-RESPONSE", "Location", "Retry-After"} <= {*exposed}


def test_the_document_has_the_headers(api):
    operation = api.get("/openapi.json").json["paths"][
        "/v1/x402/tenants/{tenant}/tickets/{ticket_id}/orders"
    ]["post"]
    assert "PAYMENT-SIGNATURE" in {each["name"] for each in operation["parameters"]}
    responses = operation["responses"]
    assert "PAYMENT-RESPONSE" in responses["200"]["headers"]
    assert "PAYMENT-REQUIRED" in responses["402"]["headers"]
    assert {"Retry-After", "Location"} <= responses["202"]["headers"].keys()
