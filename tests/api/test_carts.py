"""Several ticket types in one order: one hold, one address, one payment, all or nothing."""

from datetime import datetime

import pytest

from tests.support.admissions import FREE, admissions_of, void
from tests.support.carts import (
    CHILD,
    SHIRT,
    TOTAL,
    buyer_of,
    carts_of,
    family,
    items_of,
    order,
    sold_to,
)
from tests.support.factories import CHAIN, PRICE, Api, Buyer, worker_once
from ticketing.models.ticket_types import EventStock, TicketType
from ticketing.services.payments import reconciliation

pytestmark = pytest.mark.sql

KEY = {"Idempotency-Key": "one-order-of-a-family-" + "0" * 20}


def code(answer):
    return answer.status_code, answer.json["code"]


def counted(event_id):
    """What counts in the event's capacity: held and sold."""
    row = EventStock.get(EventStock.event == event_id)
    return row.held, row.sold


def stocks(acme, tickets):
    return [acme.stock(each) for each in tickets]


def is_reconciled():
    return reconciliation.reconcile(None) == []


def change(acme, ticket, **fields):
    path = f"{acme.path}/events/{ticket['event_id']}/tickets/{ticket['id']}"
    answer = acme.api("write").patch(path, fields)
    assert answer.status_code == 200, answer.json


def cancel_of(acme, path, **body):
    answer = acme.api().post(f"{acme.path}/events/{path}/status", {"status": "canceled", **body})
    assert answer.status_code == 200, answer.json


@pytest.fixture
def pass_time(acme, node):
    """Move the chain's clock forward by some seconds, and let the worker look."""

    def pass_time(seconds):
        node.rpc("evm_increaseTime", seconds)
        node.rpc("anvil_mine", "0x1")
        worker_once(acme.app)

    return pass_time


def test_a_family_buys_tickets_and_a_shirt_with_one_payment(acme, node):
    adult, child, shirt = tickets = family(acme, capacity=10)
    buyer = buyer_of(acme, (adult, 2), (child, 1), (shirt, 1))
    intent = buyer.intent
    prices = [(adult, 2, PRICE), (child, 1, CHILD), (shirt, 1, SHIRT)]
    expected = {
        "ticket_id": None,
        "unit_amount": None,
        "quantity": 4,
        "amount": TOTAL,
        "amount_due": TOTAL,
        "atomic_amount": TOTAL,
        "discount_amount": 0,
        "voucher": None,
        "items": [
            {
                "ticket_id": ticket["id"],
                "name": ticket["name"],
                "quantity": quantity,
                "list_amount": price,
                "unit_amount": price,
                "amount": quantity * price,
                "deposit_amount": 0,
            }
            for ticket, quantity, price in prices
        ],
    }
    assert {name: intent[name] for name in expected} == expected
    assert stocks(acme, tickets) == [(2, 0), (1, 0), (1, 0)]
    assert counted(adult["event_id"]) == (3, 0)  # the shirt admits nobody

    worker_once(acme.app)
    buyer.pay(node)
    bought = buyer.purchase()
    assert (bought.status_code, bought.json["status"]) == (200, "confirmed")
    assert bought.json["items"] == intent["items"]
    assert stocks(acme, tickets) == [(0, 2), (0, 1), (0, 1)]
    assert counted(adult["event_id"]) == (0, 3)
    of_each = [(each.ticket_type_id, each.amount) for each in admissions_of(buyer)]
    expected_seats = [(adult["id"], PRICE)] * 2 + [(child["id"], CHILD), (shirt["id"], SHIRT)]
    assert sorted(of_each) == sorted(expected_seats)
    assert len({each["code"] for each in bought.json["admissions"]}) == 4
    assert is_reconciled()


def wrong_bodies(adult, child):
    """Bodies, and the field that is wrong."""
    one, other = items_of((adult, 1), (child, 1))
    yield {"items": [one], "ticket_id": adult["id"]}, "ticket_id"
    yield {"items": [one], "quantity": 1}, "quantity"
    yield {}, "ticket_id"
    yield {"items": []}, "items"
    yield {"items": None}, "items"
    yield {"items": [one, other, one]}, "items"
    yield {"items": [{"ticket_id": f"tkt_{n}"} for n in range(11)]}, "items"
    yield {"items": [{**one, "quantity": 60}, {**other, "quantity": 41}]}, "items"
    yield {"items": [{**one, "quantity": 0}]}, "items.0.quantity"
    yield {"items": [one, {**other, "price_amount": -1}]}, "items.1.price_amount"
    yield {"items": [one, {**other, "price_amount": 10**15 + 1}]}, "items.1.price_amount"
    yield {"items": [{**one, "colour": "red"}]}, "items.0.colour"


def test_a_body_that_says_it_wrongly_is_refused_by_field(acme):
    adult, child, _ = tickets = family(acme)
    post = Api(acme.app.test_client()).post
    for body, field in wrong_bodies(adult, child):
        answer = post(f"{acme.checkout}/preflight", {"event_id": adult["event_id"], **body})
        assert (code(answer), [*answer.json["errors"]]) == ((422, "invalid_request"), [field]), body
    assert stocks(acme, tickets) == [(0, 0)] * 3


def test_ten_items_and_a_hundred_seats_are_possible(acme):
    of = carts_of(acme)
    tickets = [acme.ticket(of, capacity=None) for _ in range(10)]
    intent = buyer_of(acme, *((each, 10) for each in tickets)).intent
    assert (intent["quantity"], intent["amount"]) == (100, 100 * PRICE)
    assert is_reconciled()


def test_the_organizer_decides_whether_an_event_has_carts(acme):
    event = acme.event()
    one, other = (acme.ticket(event) for _ in range(2))
    assert code(order(acme, (one, 1), (other, 1))) == (409, "one_type_only")
    assert order(acme, (one, 1)).status_code == 201
    assert stocks(acme, [one, other]) == [(1, 0), (0, 0)]


def test_all_items_are_of_one_event(acme, neighbour):
    adult, *_ = family(acme)
    for stranger in (family(acme)[0], family(neighbour)[0], {**adult, "id": "tkt_nothing"}):
        assert code(order(acme, (adult, 1), (stranger, 1))) == (404, "not_found")
    assert acme.stock(adult) == (0, 0)


def test_what_requires_a_ticket_is_sold_with_one_only(acme):
    adult, child, shirt = family(acme)
    meal = acme.ticket({"id": adult["event_id"]}, requires_ticket=True, admission=False)
    for wanted in ([child], [meal], [child, meal], [shirt, meal]):
        assert code(order(acme, *((each, 1) for each in wanted))) == (409, "needs_ticket")
    assert order(acme, (meal, 1), (child, 1), (adult, 1)).status_code == 201


def test_all_that_costs_something_is_paid_on_one_network(acme):
    of = carts_of(acme)
    one, other = acme.ticket(of), acme.ticket(of, chain_id=8453)
    free = acme.ticket(of, **FREE)
    assert code(order(acme, (one, 1), (other, 1))) == (409, "no_common_network")
    mixed = buyer_of(acme, (free, 1), (one, 1)).intent
    assert (mixed["chain_id"], mixed["amount"]) == (CHAIN, PRICE)
    refused = order(acme, (free, 1), (one, 1), chain_id=8453)
    assert [*refused.json["errors"]] == ["chain_id"]


def test_a_free_order_of_several_types_needs_no_network(acme):
    of = carts_of(acme)
    tickets = [acme.ticket(of, **FREE) for _ in range(2)]
    buyer = buyer_of(acme, *((each, 2) for each in tickets))
    assert (buyer.intent["chain_id"], buyer.intent["address"]) == (None, None)
    assert len(buyer.purchase().json["admissions"]) == 4
    assert stocks(acme, tickets) == [(0, 2)] * 2 and is_reconciled()


def donation(acme, **fields):
    most = {"max_price_amount": 3 * PRICE, **fields}
    return acme.ticket(carts_of(acme), free_price=True, **most)


def chosen(acme, ticket, price, **fields):
    (item,) = items_of((ticket, 2))
    body = {"event_id": ticket["event_id"], "items": [{**item, "price_amount": price}], **fields}
    return Api(acme.app.test_client()).post(f"{acme.checkout}/preflight", body)


def test_a_buyer_may_choose_to_pay_more_within_bounds(acme):
    ticket = donation(acme)
    for price in (PRICE - 1, 3 * PRICE + 1):
        assert [*chosen(acme, ticket, price).json["errors"]] == ["items.0.price_amount"]
    fixed = acme.ticket()
    assert [*chosen(acme, fixed, PRICE).json["errors"]] == ["items.0.price_amount"]
    for price, unit in ((PRICE, PRICE), (3 * PRICE, 3 * PRICE), (None, PRICE)):
        intent = chosen(acme, ticket, price).json
        assert (intent["unit_amount"], intent["amount"]) == (unit, 2 * unit)
        assert intent["items"][0]["list_amount"] == PRICE and intent["discount_amount"] == 0
    assert code(chosen(acme, ticket, 2 * PRICE, max_amount=4 * PRICE - 1))[1] == "over_max_amount"


def test_a_free_choice_is_nothing_or_an_amount_that_is_worth_a_payment(acme):
    ticket = donation(acme, price_amount=0)
    for price in (1, 9_999):
        assert [*chosen(acme, ticket, price).json["errors"]] == ["items.0.price_amount"]
    assert chosen(acme, ticket, 0).json["amount"] == 0
    assert chosen(acme, ticket, 10_000).json["amount"] == 20_000


def test_the_chosen_price_is_the_price_and_more_than_it_is_owed(acme, node):
    ticket = donation(acme)
    buyer = Buyer(acme, chosen(acme, ticket, 2 * PRICE).json)
    worker_once(acme.app)
    buyer.pay(node, 4 * PRICE + 7)
    worker_once(acme.app)
    assert (buyer.now()["status"], buyer.now()["refund_due"]) == ("confirmed", 7)
    assert [each.amount for each in admissions_of(buyer)] == [2 * PRICE] * 2
    assert is_reconciled()


def test_the_limit_of_the_buyer_is_for_the_sum(acme):
    adult, child, shirt = family(acme)
    wanted = (adult, 2), (child, 1), (shirt, 1)
    assert code(order(acme, *wanted, max_amount=TOTAL - 1)) == (409, "over_max_amount")
    assert order(acme, *wanted, max_amount=TOTAL).status_code == 201


def test_a_refusal_names_the_item_and_holds_nothing_of_the_others(acme):
    adult, child, shirt = family(acme, capacity=10)
    change(acme, child, min_per_order=2, max_per_order=3)
    change(acme, shirt, capacity=1)
    for wanted, why, place in (
        (((adult, 1), (child, 1)), "below_minimum", "items.1"),
        (((child, 4), (adult, 1)), "above_maximum", "items.0"),
        (((adult, 1), (shirt, 2)), "sold_out", "items.1"),
    ):
        answer = order(acme, *wanted)
        assert (code(answer), [*answer.json["errors"]]) == ((409, why), [place])
    assert stocks(acme, (adult, child, shirt)) == [(0, 0)] * 3
    assert counted(adult["event_id"]) == (0, 0)


def test_what_is_taken_at_the_last_moment_holds_nothing_of_the_others(acme, monkeypatch):
    adult, _, shirt = family(acme, capacity=10)
    change(acme, shirt, capacity=1)
    order(acme, (shirt, 1))
    monkeypatch.setattr("ticketing.services.orders.holds.check_left", lambda wanted: None)
    for wanted in (((adult, 1), (shirt, 1)), ((shirt, 1), (adult, 1))):
        answer = order(acme, *wanted)
        assert code(answer) == (409, "sold_out")
        assert [*answer.json["errors"]] == [f"items.{[*wanted].index((shirt, 1))}"]
    assert code(order(acme, (adult, 10), (shirt, 1))) == (409, "sold_out")
    assert stocks(acme, (adult, shirt)) == [(0, 0), (1, 0)] and counted(adult["event_id"]) == (0, 0)


def test_the_events_capacity_counts_people_only(acme):
    adult, child, shirt = family(acme, capacity=3)
    assert code(order(acme, (adult, 2), (child, 2))) == (409, "sold_out")
    assert order(acme, (adult, 2), (child, 1), (shirt, 9)).status_code == 201
    assert order(acme, (shirt, 1)).status_code == 201
    assert code(order(acme, (adult, 1))) == (409, "sold_out")


VOLATILE = ("id", "address", "payment_uri", "client_secret", "created_at", "expires_at")


def test_one_item_is_the_old_form(acme):
    ticket = acme.ticket()
    old = acme.preflight(ticket, quantity=2)
    new = order(acme, (ticket, 2))
    assert old.status_code == new.status_code == 201
    before, after = old.get_data(as_text=True), new.get_data(as_text=True)
    for name in VOLATILE:
        before = before.replace(str(old.json[name]), name)
        after = after.replace(str(new.json[name]), name)
    assert before == after


def test_the_items_belong_to_the_body_of_a_key(acme):
    adult, child, _ = family(acme)
    first = order(acme, (adult, 1), (child, 1), headers=KEY)
    again = order(acme, (adult, 1), (child, 1), headers=KEY)
    assert first.json["id"] == again.json["id"] and again.json["items"] == first.json["items"]
    for wanted in (((adult, 2), (child, 1)), ((child, 1), (adult, 1))):
        answer = order(acme, *wanted, headers=KEY)
        assert code(answer) == (422, "idempotency_key_reused")
    assert stocks(acme, (adult, child)) == [(1, 0)] * 2


def test_of_a_voided_seat_its_own_price_is_owed(acme, node):
    adult, child, shirt = tickets = family(acme, capacity=10)
    buyer = sold_to(acme, node, (adult, 2), (child, 1), (shirt, 1))
    seats = {each.ticket_type_id: each.id for each in admissions_of(buyer)}
    owed = 0
    for ticket, price in ((shirt, SHIRT), (child, CHILD), (adult, PRICE)):
        owed += price
        assert void(acme, seats[ticket["id"]]).status_code == 200
        assert buyer.now()["refund_due"] == owed
        assert is_reconciled()
    assert stocks(acme, tickets) == [(0, 1), (0, 0), (0, 0)]
    assert counted(adult["event_id"]) == (0, 1)


def test_a_canceled_event_owes_all_but_what_was_voided_without_a_refund(acme, node):
    adult, child, shirt = family(acme, capacity=10)
    buyer = sold_to(acme, node, (adult, 2), (child, 1), (shirt, 1))
    seats = {each.ticket_type_id: each.id for each in admissions_of(buyer)}
    assert void(acme, seats[child["id"]], refund=False).status_code == 200
    assert buyer.now()["refund_due"] == 0
    cancel_of(acme, adult["event_id"], refund=True)
    assert buyer.now()["refund_due"] == TOTAL - CHILD
    assert is_reconciled()


@pytest.mark.parametrize("paid", [0, PRICE, TOTAL])
def test_the_end_of_one_type_cancels_the_whole_live_order(three_deep, acme, node, paid):
    adult, child, shirt = tickets = family(acme, capacity=10)
    buyer = buyer_of(acme, (adult, 2), (child, 1), (shirt, 1))
    other = buyer_of(acme, (adult, 1))
    worker_once(acme.app)
    if paid:
        buyer.pay(node, paid)
        worker_once(acme.app)
    cancel_of(acme, f"{adult['event_id']}/tickets/{shirt['id']}")
    now = buyer.now()
    assert (now["status"], now["refund_due"]) == ("canceled", paid)
    assert other.now()["status"] == "awaiting_payment"
    assert stocks(acme, tickets) == [(1, 0), (0, 0), (0, 0)]
    assert counted(adult["event_id"]) == (1, 0) and is_reconciled()


def test_the_end_of_one_type_leaves_seats_that_are_sold(acme, node):
    adult, child, shirt = tickets = family(acme, capacity=10)
    buyer = sold_to(acme, node, (adult, 2), (child, 1), (shirt, 1))
    cancel_of(acme, f"{adult['event_id']}/tickets/{child['id']}")
    assert (buyer.now()["status"], buyer.now()["refund_due"]) == ("confirmed", 0)
    assert {each.status for each in admissions_of(buyer)} == {"valid"}
    assert stocks(acme, tickets) == [(0, 2), (0, 1), (0, 1)] and is_reconciled()


def late(acme, *wanted):
    """A buyer whose order will have expired after `pass_time(1000)`."""
    buyer = buyer_of(acme, *wanted)
    worker_once(acme.app)
    return buyer


def test_late_money_is_honoured_if_all_items_are_left(acme, node, pass_time):
    adult, child, shirt = tickets = family(acme, capacity=3)
    buyer = late(acme, (shirt, 1), (child, 1), (adult, 2))
    pass_time(1000)
    assert buyer.now()["status"] == "expired"
    assert stocks(acme, tickets) == [(0, 0)] * 3
    buyer.pay(node)
    worker_once(acme.app)
    assert (buyer.now()["status"], buyer.now()["flags"]) == ("confirmed", ["paid_late"])
    assert stocks(acme, tickets) == [(0, 2), (0, 1), (0, 1)]
    assert counted(adult["event_id"]) == (0, 3) and is_reconciled()


@pytest.mark.parametrize("lacking", ["adult", "child", "shirt", "event", "price", "canceled"])
def test_late_money_is_owed_if_one_item_is_not_left(acme, node, pass_time, lacking):
    adult, child, shirt = tickets = family(acme, capacity=4)
    buyer = late(acme, (shirt, 1), (child, 1), (adult, 2))
    pass_time(1000)
    if lacking == "event":
        buyer_of(acme, (adult, 2))
    elif lacking == "price":
        change(acme, child, price_amount=CHILD + 1)
    elif lacking == "canceled":
        cancel_of(acme, f"{adult['event_id']}/tickets/{child['id']}")
    else:
        missing = dict(zip(("adult", "child", "shirt"), tickets, strict=True))[lacking]
        change(acme, missing, capacity=0)
    before, event_before = stocks(acme, tickets), counted(adult["event_id"])
    buyer.pay(node)
    worker_once(acme.app)
    assert (buyer.now()["status"], buyer.now()["refund_due"]) == ("expired", TOTAL)
    assert (stocks(acme, tickets), counted(adult["event_id"])) == (before, event_before)
    assert is_reconciled()


CLIENT = {"environ_overrides": {"REMOTE_ADDR": "192.0.2.1"}}


class TestWithoutACredential:
    @pytest.fixture
    def environ(self, environ):
        return {**environ, "UNPAID_PER_ADDRESS": "10", "FREE_PER_CLIENT": "5"}

    def test_a_client_holds_so_many_unpaid_seats_over_all_items(self, acme):
        of = carts_of(acme)
        one, other = (acme.ticket(of, capacity=None) for _ in range(2))
        assert order(acme, (one, 4), (other, 4), **CLIENT).status_code == 201
        assert code(order(acme, (one, 1), (other, 2), **CLIENT)) == (429, "too_much_unpaid")
        assert order(acme, (one, 1), (other, 1), **CLIENT).status_code == 201
        assert stocks(acme, (one, other)) == [(5, 0)] * 2

    def test_free_seats_count_also_beside_paid_ones(self, acme):
        of = carts_of(acme)
        paid, free = acme.ticket(of, capacity=None), acme.ticket(of, **FREE, capacity=None)
        assert order(acme, (paid, 1), (free, 3), **CLIENT).status_code == 201
        assert code(order(acme, (paid, 1), (free, 3), **CLIENT)) == (429, "too_many_free")
        assert order(acme, (paid, 1), (free, 2), **CLIENT).status_code == 201
        assert code(order(acme, (free, 1), **CLIENT)) == (429, "too_many_free")
        assert stocks(acme, (paid, free)) == [(2, 0), (5, 0)]


class TestShare:
    @pytest.fixture
    def environ(self, environ):
        return {**environ, "UNPAID_PER_ADDRESS": "1000"}

    def test_a_client_has_its_share_of_each_type(self, acme):
        of = carts_of(acme)
        many = acme.ticket(of, capacity=None, max_per_order=50)
        few = acme.ticket(of, capacity=8, max_per_order=2)
        assert order(acme, (many, 20), (few, 2), **CLIENT).status_code == 201
        assert code(order(acme, (many, 1), (few, 1), **CLIENT)) == (429, "too_much_unpaid")
        assert order(acme, (many, 1), **CLIENT).status_code == 201
        assert stocks(acme, (many, few)) == [(21, 0), (2, 0)]


def test_an_order_is_held_as_long_as_its_scarcest_type_allows(acme):
    of = carts_of(acme)
    many, few = acme.ticket(of, capacity=None), acme.ticket(of, capacity=4)
    for wanted in (((few, 3),), ((many, 1), (few, 1))):
        intent = order(acme, *wanted, **CLIENT).json
    created, expires = (datetime.fromisoformat(intent[f"{at}_at"]) for at in ("created", "expires"))
    assert (expires - created).total_seconds() < 900
    assert {each.held for each in TicketType.select()} == {1, 4}
