"""Several ticket types of an event in one x402 order: one signature pays the sum."""

import pytest

from tests.support.carts import CHILD, SHIRT, TOTAL, family, items_of
from tests.support.factories import PRICE, worker_once
from tests.support.x402 import required
from ticketing.services.payments import reconciliation

pytestmark = pytest.mark.sql

KEY = {"Idempotency-Key": "an-order-of-my-agent-" + "0" * 20}


def code(answer):
    return answer.status_code, answer.json["code"]


@pytest.fixture
def tickets(app, acme):
    """Adult, child and shirt, on a chain whose token the worker has asked for its name."""
    made = family(acme, capacity=100)
    for each in made:
        here = f"{acme.path}/events/{each['event_id']}/tickets/{each['id']}"
        assert acme.api().patch(here, {"capacity": 100}).status_code == 200
    worker_once(app)
    return made


@pytest.fixture
def path(acme, tickets):
    return f"/v1/x402/tenants/{acme.slug}/events/{tickets[0]['event_id']}/orders"


@pytest.fixture
def body(tickets):
    adult, child, shirt = tickets
    return {"items": items_of((adult, 2), (child, 1), (shirt, 1))}


def test_one_payment_buys_all_items(api, path, body, wallet, acme, tickets):
    first = api.post(path, body)
    assert code(first) == (402, "payment_required")
    asked = required(first)
    assert asked["accepts"][0]["amount"] == str(TOTAL)
    assert asked["resource"]["url"] == f"https://tickets.example.org{path}"
    assert asked["resource"]["description"] == (
        "Launch Night, 27.00 USDC in all: 2 x Adult at 5.00 USDC, 1 x Child at 2.00 USDC,"
        " 1 x Shirt at 15.00 USDC"
    )
    assert "27.00 USDC" in asked["error"]
    bought = api.post(path, body, headers=wallet.header(asked))
    assert (bought.status_code, len(bought.json["admissions"])) == (200, 4)
    assert [each["amount"] for each in bought.json["items"]] == [2 * PRICE, CHILD, SHIRT]
    assert [acme.stock(each) for each in tickets] == [(0, 2), (0, 1), (0, 1)]
    assert reconciliation.reconcile(None) == []


@pytest.mark.parametrize("has_order", [False, True])
def test_a_payment_belongs_to_the_body_and_the_event_of_its_order(
    api, path, body, wallet, acme, facilitator, make_order, has_order
):
    asked = make_order(path, body) if has_order else api.post(path, body)
    paying = wallet.header(required(asked))
    other_body = (422, "idempotency_key_reused") if has_order else (400, "invalid_payment")
    other_event = (400, "invalid_payment") if has_order else (404, "not_found")
    others = (
        {"items": body["items"][:2]},
        {"items": body["items"][::-1]},
        {**body, "buyer": {"name": "Eve"}},
        {**body, "max_amount": TOTAL},
    )
    for other in others:
        assert code(api.post(path, other, headers=paying)) == other_body
    elsewhere = path.replace(path.split("/")[-2], family(acme)[0]["event_id"])
    assert code(api.post(elsewhere, body, headers=paying)) == other_event
    of_ticket = path.partition("/events/")[0] + f"/tickets/{body['items'][0]['ticket_id']}/orders"
    assert code(api.post(of_ticket, headers=paying)) == (400, "invalid_payment")
    assert facilitator.asked == []
    assert api.post(path, body, headers=paying).status_code == 200
    assert api.post(path, body, headers=paying).status_code == 200


def test_a_key_belongs_to_the_body(api, path, body, acme, tickets, wallet):
    paying = wallet.header(required(api.post(path, body, headers=KEY)))
    paid, again = (api.post(path, body, headers=KEY | paying) for _ in range(2))
    assert paid.json["id"] == again.json["id"]
    for other in ({"items": body["items"][:2]}, {**body, "buyer": {"name": "Eve"}}):
        assert code(api.post(path, other, headers=KEY)) == (422, "idempotency_key_reused")
    assert [acme.stock(each)[1] for each in tickets] == [2, 1, 1]


def test_the_offer_says_what_can_be_bought_and_reserves_nothing(api, path, acme, tickets):
    offer = api.get(path).json["offer"]
    assert (offer["event_id"], offer["carts"]) == (tickets[0]["event_id"], True)
    assert offer["url"] == f"https://tickets.example.org{path}"
    assert [each["ticket"] for each in offer["tickets"]] == ["Adult", "Child", "Shirt"]
    shown = [(each["admission"], each["requires_ticket"]) for each in offer["tickets"]]
    assert shown == [(True, False), (True, True), (False, False)]
    assert {each["network"] for each in offer["tickets"]} == {"eip155:31337"}
    assert [acme.stock(each) for each in tickets] == [(0, 0)] * 3
    assert code(api.get(path.replace(tickets[0]["event_id"], "evt_x"))) == (404, "not_found")


def test_the_rules_of_carts_are_those_of_a_preflight(api, path, body, acme, tickets):
    adult, child, shirt = tickets
    assert code(api.post(path, {"items": items_of((child, 1))})) == (409, "needs_ticket")
    twice = items_of((adult, 1), (adult, 1))
    assert [*api.post(path, {"items": twice}).json["errors"]] == ["items"]
    assert code(api.post(path, {**body, "max_amount": TOTAL - 1})) == (409, "over_max_amount")
    stranger = items_of((adult, 1), (acme.ticket(), 1))
    assert code(api.post(path, {"items": stranger})) == (404, "not_found")
    event = f"{acme.path}/events/{adult['event_id']}"
    assert acme.api().patch(event, {"carts": False}).status_code == 200
    assert code(api.post(path, body)) == (409, "one_type_only")
    assert api.post(path, {"items": items_of((adult, 1))}).status_code == 402
    assert [acme.stock(each) for each in (child, shirt)] == [(0, 0)] * 2


def test_each_type_has_its_share_of_unpaid_orders(api, path, tickets, wallet, facilitator):
    adult, _, shirt = tickets
    facilitator.mode = "refuse"

    def order(*wanted):
        body = {"items": items_of(*wanted)}
        return code(api.post(path, body, headers=wallet.header(required(api.post(path, body)))))

    assert order((adult, 10), (shirt, 1)) == (402, "payment_required")
    assert order((adult, 1), (shirt, 1)) == (409, "x402_share_held")
    assert order((shirt, 9)) == (402, "payment_required")


def test_a_voucher_lowers_the_sum_that_is_asked_for(api, path, body, acme, tickets, wallet):
    vouchers = f"{acme.path}/events/{tickets[0]['event_id']}/vouchers"
    voucher = {"code": "HALF-PRICE", "max_usages": 4, "price_mode": "percent", "value": 50}
    assert acme.api().post(vouchers, voucher).status_code == 201
    wrong = api.post(path, {**body, "voucher": "WRONG-CODE"})
    assert code(wrong) == (409, "voucher_invalid")
    vouchered = {**body, "voucher": "HALF-PRICE"}
    asked = required(api.post(path, vouchered, headers=KEY))
    assert asked["accepts"][0]["amount"] == str(TOTAL // 2)
    paying = KEY | wallet.header(asked)
    assert api.post(path, vouchered, headers=paying).status_code == 200
    assert code(api.post(path, body, headers=KEY)) == (422, "idempotency_key_reused")
