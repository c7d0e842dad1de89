"""A price is named first. Nothing is held before a payment."""

import time
from functools import partial

import pytest

from tests.support.factories import PRICE, cli, worker_once
from tests.support.payouts import with_address
from tests.support.races import at_once
from tests.support.x402 import Wallet, decoded, encoded, required
from ticketing.db.connection import database
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.unassigned_money import SkippedIndexes, UnassignedMoney
from ticketing.services.payments import reconciliation
from ticketing.services.wallets import named_addresses
from ticketing.services.x402 import pricing
from tools import anvil

pytestmark = pytest.mark.sql

KEY = {"Idempotency-Key": "an-order-of-my-agent-" + "0" * 20}


@pytest.fixture
def venue(app, node):
    return with_address(app, node)


@pytest.fixture
def ticket(venue):
    made = venue.ticket(capacity=10)
    worker_once(venue.app)
    return made


@pytest.fixture
def path(venue, ticket):
    return f"/v1/x402/tenants/{venue.slug}/tickets/{ticket['id']}/orders"


@pytest.fixture(autouse=True)
def books(venue):
    """The books are right after each test."""
    yield
    assert reconciliation.reconcile(venue.id) == []


def code(answer):
    return answer.status_code, answer.json["code"]


def orders():
    return PaymentIntent.select().count()


def rows():
    """How many rows all tables have, without those of requests and ranges of indexes."""
    names = set(database.get_tables()) - {"rate_limits", "skipped_indexes", "daily_amounts"}
    return {
        name: database.execute_sql(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in names
    }


def test_a_price_is_named_and_nothing_is_held_or_stored(api, venue, path, ticket):
    before = rows()
    answer = api.post(path)
    assert code(answer) == (402, "payment_required")
    assert (answer.json["amount"], answer.json["currency"]) == (PRICE, "USDC")
    assert answer.json["preflight_url"].endswith(f"{venue.checkout}/preflight")
    assert "intent" not in answer.json and "client_secret" not in answer.json
    asked = required(answer)
    (accepted,) = asked["accepts"]
    assert (accepted["amount"], accepted["maxTimeoutSeconds"]) == (str(PRICE), 300)
    assert asked["resource"]["description"] == "Launch Night, General admission, 1 x 5.00 USDC"
    assert rows() == before and venue.stock(ticket) == (0, 0)
    # Each request is told an address of its own, and so is an order.
    others = {required(api.post(path))["accepts"][0]["payTo"] for _ in range(3)}
    others |= {accepted["payTo"], venue.buyer(ticket).intent["address"]}
    assert len(others) == 5


def test_the_payment_makes_the_order_and_a_repeat_gets_the_same_tickets(
    api, path, venue, ticket, wallet, facilitator
):
    asked = required(api.post(path, {"quantity": 2}))
    header = wallet.header(asked)
    answer = api.post(path, {"quantity": 2}, headers=header)
    assert answer.status_code == 200, answer.json
    assert answer.json["address"] == asked["accepts"][0]["payTo"]
    assert decoded(answer.headers["PAYMENT-RESPONSE"])["payer"] == wallet.address
    assert len({each["code"] for each in answer.json["admissions"]}) == 2
    again = api.post(path, {"quantity": 2}, headers=header)
    assert again.json["admissions"] == answer.json["admissions"]
    assert (orders(), len(facilitator.asked), venue.stock(ticket)) == (1, 1, (0, 2))
    assert asked["accepts"][0]["extra"]["claim"] not in str(facilitator.asked)


@pytest.mark.parametrize("count", [300, pytest.param(2000, marks=pytest.mark.long)])
def test_many_requests_change_nothing_for_a_buyer(
    venue, path, ticket, wallet, api, monkeypatch, count
):
    monkeypatch.setattr(named_addresses, "NAMED_PER_WALLET", count)
    monkeypatch.setattr(pricing, "NAMED_PER_CLIENT", count + 1)
    asked = required(api.post(path))
    before, ranges = rows(), SkippedIndexes.select().count()
    statuses = {api.post(path).status_code for _ in range(count - 1)}
    assert statuses == {402}
    assert (rows(), SkippedIndexes.select().count()) == (before, ranges)
    assert venue.stock(ticket) == (0, 0)
    # There is an end to it, on this path alone, until somebody pays.
    last = api.post(path)
    assert code(last) == (429, "too_many_addresses") and int(last.headers["Retry-After"]) > 0
    buyer = venue.buyer(ticket)
    assert buyer.intent["status"] == "awaiting_payment"
    assert api.post(path, headers=wallet.header(asked)).status_code == 200
    assert api.post(path).status_code == 429  # the paid one was the first


def test_a_paid_order_begins_the_count_again(path, wallet, api, monkeypatch):
    monkeypatch.setattr(named_addresses, "NAMED_PER_WALLET", 200)
    monkeypatch.setattr(pricing, "NAMED_PER_CLIENT", 202)
    asked = [required(api.post(path)) for _ in range(200)]
    assert api.post(path).status_code == 429
    assert api.post(path, headers=wallet.header(asked[150])).status_code == 200
    assert api.post(path).status_code == 402


def test_without_the_money_nothing_is_held(api, path, venue, ticket, facilitator):
    poor = Wallet("0x" + "7a" * 32)
    answer = api.post(path, headers=poor.header(required(api.post(path))))
    assert code(answer) == (402, "payment_required")
    assert "does not have the money" in answer.json["detail"]
    assert (orders(), facilitator.asked, venue.stock(ticket)) == (0, [], (0, 0))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"value": PRICE - 1}, "not the price"),
        ({"validBefore": 1}, "has expired"),
        ({"validBefore": int(time.time()) + 3 * 3600}, "too long"),
        ({"validAfter": 2**40}, "not valid yet"),
    ],
)
def test_a_payment_that_cannot_settle_makes_no_order(api, path, wallet, changes, reason):
    asked = required(api.post(path))
    answer = api.post(path, headers=wallet.header(asked, **changes))
    assert code(answer) == (402, "payment_required") and reason in answer.json["detail"]
    # It names another price, whose payment is good.
    assert api.post(path, headers=wallet.header(required(answer))).status_code == 200


def test_a_claim_is_of_its_body_its_organizer_and_its_address(api, path, app, node, wallet, venue):
    asked = required(api.post(path))
    payment = wallet.payment(asked)
    header = {"PAYMENT-SIGNATURE": encoded(payment)}
    assert code(api.post(path, {"quantity": 2}, headers=header)) == (400, "invalid_payment")
    other = with_address(app, node, "other")
    there = other.ticket()
    elsewhere = f"/v1/x402/tenants/other/tickets/{there['id']}/orders"
    assert code(api.post(elsewhere, headers=header)) == (400, "invalid_payment")
    (accepted,) = asked["accepts"]
    for claim in (
        "p_",
        "p_!",
        "p_" + accepted["extra"]["claim"][5:],
        required(api.post(path))["accepts"][0]["extra"]["claim"],
        "c_" + "0" * 40,
    ):
        extra = {**accepted["extra"], "claim": claim}
        changed = {**payment, "accepted": {**accepted, "extra": extra}}
        answer = api.post(path, headers={"PAYMENT-SIGNATURE": encoded(changed)})
        assert code(answer) == (400, "invalid_payment"), claim
    assert orders() == 0


def test_a_claim_ends_but_proves_its_order_for_ever(api, path, wallet, monkeypatch):
    first, second = (required(api.post(path)) for _ in range(2))
    header = wallet.header(first)
    assert api.post(path, headers=header).status_code == 200
    monkeypatch.setattr(
        "ticketing.services.x402.price_claims.PriceClaim.has_ended", property(lambda _: True)
    )
    assert api.post(path, headers=header).status_code == 200
    answer = api.post(path, headers=wallet.header(second))
    assert code(answer) == (400, "invalid_payment")


def test_who_saw_the_payment_on_the_chain_gets_nothing(api, path, wallet):
    asked = required(api.post(path))
    payment = wallet.payment(asked)
    assert api.post(path, headers={"PAYMENT-SIGNATURE": encoded(payment)}).status_code == 200
    (accepted,) = required(api.post(path))["accepts"]
    stolen = {**payment, "accepted": {**payment["accepted"], "extra": accepted["extra"]}}
    answer = api.post(path, headers={"PAYMENT-SIGNATURE": encoded(stolen)})
    assert code(answer) == (400, "invalid_payment")


def test_what_sold_out_meanwhile_is_409_and_nothing_was_paid(api, path, venue, ticket, wallet):
    asked = required(api.post(path))
    assert venue.preflight(ticket, quantity=10).status_code == 201
    assert code(api.post(path, headers=wallet.header(asked))) == (409, "sold_out")
    assert code(api.post(path)) == (409, "sold_out")


def test_another_price_meanwhile_is_asked_for_again(api, path, venue, ticket, wallet):
    asked = required(api.post(path))
    change = venue.api().patch(
        f"{venue.path}/events/{ticket['event_id']}/tickets/{ticket['id']}",
        {"price_amount": PRICE * 2},
    )
    assert change.status_code == 200, change.json
    answer = api.post(path, headers=wallet.header(asked))
    assert code(answer) == (402, "payment_required") and "has changed" in answer.json["detail"]
    assert required(answer)["accepts"][0]["amount"] == str(2 * PRICE)
    assert orders() == 0


def test_copies_at_once_make_one_order_and_pay_once(api, path, venue, ticket, wallet, facilitator):
    header = wallet.header(required(api.post(path)))
    answers = at_once(*[partial(api.post, path, headers=header) for _ in range(8)])
    assert {each.status_code for each in answers} <= {200, 202, 503}
    worker_once(venue.app)  # a copy may have left the payment to it
    assert api.post(path, headers=header).status_code == 200
    assert (orders(), len(facilitator.asked), venue.stock(ticket)) == (1, 1, (0, 1))


def test_one_key_is_one_order_whatever_was_signed(api, path, wallet, facilitator):
    asked = [required(api.post(path, headers=KEY)) for _ in range(2)]
    first, second = (api.post(path, headers=KEY | wallet.header(each)) for each in asked)
    assert (first.status_code, second.status_code) == (200, 200)
    assert first.json["admissions"] == second.json["admissions"]
    assert api.post(path, headers=KEY).json["admissions"] == first.json["admissions"]
    assert (orders(), len(facilitator.asked)) == (1, 1)


def test_two_signatures_with_one_key_at_once_are_one_order(api, path, wallet, facilitator, venue):
    asked = [required(api.post(path, headers=KEY)) for _ in range(4)]
    sent = [KEY | wallet.header(each) for each in asked]
    answers = at_once(*[partial(api.post, path, headers=each) for each in sent])
    assert {each.status_code for each in answers} <= {200, 202, 402, 503}
    worker_once(venue.app)
    bought = [api.post(path, headers=each) for each in sent]
    assert {each.status_code for each in bought} == {200}
    assert len({each.json["id"] for each in bought}) == 1
    assert (orders(), len(facilitator.asked)) == (1, 1)


def test_the_hold_is_short_after_a_refusal(api, path, wallet, facilitator, venue, ticket):
    facilitator.mode = "refuse"
    answer = api.post(path, headers=wallet.header(required(api.post(path))))
    assert code(answer) == (402, "payment_required")
    assert venue.stock(ticket) == (1, 0)
    intent = PaymentIntent.get()
    assert (intent.expires_at - intent.created_at).total_seconds() < 40
    facilitator.mode = "submit"
    assert api.post(path, headers=wallet.header(required(answer))).status_code == 200


def test_a_free_order_is_made_at_once(api, venue, path):
    free = venue.ticket(price_amount=0, chain_id=None, capacity=10)
    path = path.rpartition("/tickets/")[0] + f"/tickets/{free['id']}/orders"
    assert api.post(path).status_code == 200


def test_several_items_of_an_event(api, venue, wallet):
    event = venue.event(carts=True)
    seat, child = (venue.ticket(event, name=each, capacity=100) for each in ("Seat", "Child"))
    worker_once(venue.app)
    path = f"/v1/x402/tenants/{venue.slug}/events/{event['id']}/orders"
    items = [{"ticket_id": seat["id"], "quantity": 2}, {"ticket_id": child["id"], "quantity": 1}]
    asked = required(api.post(path, {"items": items}))
    assert asked["resource"]["url"].endswith(path)
    assert asked["resource"]["description"].startswith("Launch Night, 15.00 USDC in all: 2 x Seat")
    answer = api.post(path, {"items": items}, headers=wallet.header(asked))
    assert answer.status_code == 200 and len(answer.json["admissions"]) == 3


def test_money_without_an_order_is_found_and_can_be_collected(api, app, path, venue, node):
    """Somebody pays the address that they were told, and never sends the payment here."""
    (accepted,) = required(api.post(path))["accepts"]
    anvil.transfer(node.rpc, accepted["asset"], accepted["payTo"], PRICE)
    worker_once(app)
    (row,) = UnassignedMoney.select()
    assert row.amount == PRICE
    (figures,) = venue.api().get(f"{venue.path}/money").json["data"]
    assert figures["unknown_orders"] == {"amount": PRICE, "orders": 1}


def test_money_that_was_there_before_the_order_pays_it(api, app, path, venue, node, wallet):
    """Its buyer paid the address by a transfer, and signs as well: then too much is owed back."""
    asked = required(api.post(path))
    (accepted,) = asked["accepts"]
    anvil.transfer(node.rpc, accepted["asset"], accepted["payTo"], PRICE)
    worker_once(app)
    assert UnassignedMoney.select().count() == 1
    answer = api.post(path, headers=wallet.header(asked))
    assert answer.status_code == 200, answer.json
    worker_once(app)
    assert PaymentIntent.get().amount_received == PRICE
    (figures,) = venue.api().get(f"{venue.path}/money").json["data"]
    assert figures["unknown_orders"] == {"amount": 0, "orders": 0}
    assert "right" in cli(app, "reconcile")
