"""The first request: Idempotency-Key, the share of holds, and where x402 is not enabled."""

from datetime import datetime, timedelta

import pytest

from tests.support.factories import in_days
from tests.support.x402 import required
from ticketing.application import configure
from ticketing.config import load

KEY = {"Idempotency-Key": "an-order-of-my-agent-" + "0" * 20}


def code(answer):
    return answer.status_code, answer.json["code"]


def test_a_repeat_with_the_key_gets_the_present_state_of_the_order(
    api, path, wallet, acme, ticket, facilitator
):
    first, again = (api.post(path, headers=KEY) for _ in range(2))
    assert first.json["intent"]["id"] == again.json["intent"]["id"]
    assert required(again)["accepts"][0]["extra"] == required(first)["accepts"][0]["extra"]
    assert acme.stock(ticket) == (1, 0)
    paid = api.post(path, headers=KEY | wallet.header(required(first)))
    assert paid.status_code == 200
    repeat = api.post(path, headers=KEY)
    assert repeat.status_code == 200
    assert repeat.json["admissions"] == paid.json["admissions"]
    assert len(facilitator.asked) == 1 and acme.stock(ticket) == (0, 1)


def test_nothing_is_sold_of_an_event_that_is_over(api, path, acme, ticket):
    times = {"start_at": in_days(-1), "end_at": in_days(-0.5)}
    here = f"{acme.path}/events/{ticket['event_id']}"
    assert acme.api().patch(here, times).status_code == 200
    assert code(api.post(path, headers=KEY)) == (409, "event_over")
    assert acme.stock(ticket) == (0, 0)


def test_the_key_belongs_to_one_order(api, path, acme):
    assert api.post(path, headers=KEY).status_code == 402
    assert code(api.post(path, {"quantity": 2}, headers=KEY)) == (422, "idempotency_key_reused")
    other = acme.ticket(capacity=100)["id"]
    elsewhere = f"{path.rpartition('/tickets/')[0]}/tickets/{other}/orders"
    assert code(api.post(elsewhere, headers=KEY)) == (422, "idempotency_key_reused")


def test_a_short_key_could_be_guessed(api, path):
    answer = api.post(path, headers={"Idempotency-Key": "order-1"})
    assert code(answer) == (422, "invalid_request")


def test_a_caller_with_a_credential_has_keys_of_its_own(api, path, acme):
    integration = acme.with_headers({"X-API-Key": acme.admin_key})
    first, other = integration.post(path, headers=KEY), api.post(path, headers=KEY)
    assert first.json["intent"]["id"] != other.json["intent"]["id"]


def test_unpaid_orders_hold_a_tenth_of_a_ticket_type(path, acme, ticket, wallet):
    api = acme.with_headers({"X-API-Key": acme.admin_key})
    orders = [api.post(path, {"quantity": 5}) for _ in range(2)]
    assert [each.status_code for each in orders] == [402, 402]
    refused = api.post(path)
    assert code(refused) == (409, "x402_share_held") and int(refused.headers["Retry-After"]) > 0
    assert acme.stock(ticket) == (10, 0)
    # All others still order, and a paid order makes room.
    assert acme.preflight(ticket).status_code == 201
    header = wallet.header(required(orders[0]))
    assert api.post(path, {"quantity": 5}, headers=header).status_code == 200
    assert api.post(path).status_code == 402


def test_the_third_unpaid_order_of_a_client_replaces_its_oldest(api, path, acme, ticket, wallet):
    first, *others = (api.post(path, {"quantity": 2}) for _ in range(12))
    assert {each.status_code for each in (first, *others)} == {402}
    assert acme.stock(ticket) == (4, 0)
    late = api.post(path, {"quantity": 2}, headers=wallet.header(required(first)))
    assert code(late) == (410, "order_ended")
    header = wallet.header(required(others[-1]))
    assert api.post(path, {"quantity": 2}, headers=header).status_code == 200


def test_the_buyer_limits_the_amount(api, path):
    assert code(api.post(path, {"max_amount": 1})) == (409, "over_max_amount")


def test_the_hold_is_five_minutes(api, path):
    intent = api.post(path).json["intent"]
    created, expires = (
        datetime.fromisoformat(intent[f"{each}_at"]) for each in ("created", "expires")
    )
    assert timedelta(seconds=290) <= expires - created <= timedelta(seconds=310)


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
