"""A buyer who pays from an exchange: the order is held longer, once, within the limits."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import pytest

from tests.support.admissions import FREE
from tests.support.apps import new_app
from tests.support.books import change_home
from tests.support.factories import PRICE, Api, Buyer, statuses, worker_once
from tests.support.order_pages import press
from tests.support.refunds import pass_hours
from tests.support.stopped_clock import START
from ticketing import clock
from ticketing.constants import EXCHANGE_HOLD
from ticketing.db.connection import database
from ticketing.models.payment_intents import PaymentIntent

pytestmark = pytest.mark.sql

MINUTES = 60


@pytest.fixture
def environ(environ):
    return {**environ, "HOLD_SECONDS": "900"}


@pytest.fixture
def limited(environ):
    environ["UNPAID_PER_ADDRESS"] = "100"


def order(acme, ticket, address="192.0.2.1", **fields):
    body = {"event_id": ticket["event_id"], "ticket_id": ticket["id"], **fields}
    api = Api(acme.app.test_client())
    made = api.post(f"{acme.checkout}/preflight", body, environ_overrides={"REMOTE_ADDR": address})
    assert made.status_code == 201, made.json
    return Buyer(acme, made.json)


def extend(buyer, **options):
    return buyer.api.post(f"{buyer.path}/hold", **options)


def refused(answer, code, status=409):
    assert (answer.status_code, answer.json["code"]) == (status, code)


def minutes_held(intent):
    return (datetime.fromisoformat(intent["expires_at"]) - START) / timedelta(minutes=1)


def test_an_order_is_held_for_an_hour_once(acme, time):
    buyer = order(acme, acme.ticket())
    before = buyer.api.get(buyer.path)
    time.forward(seconds=14 * MINUTES)
    answer = extend(buyer)
    assert answer.status_code == 200, answer.json
    assert minutes_held(answer.json) == 60
    assert answer.json == buyer.now()
    assert buyer.api.get(buyer.path).headers["ETag"] != before.headers["ETag"]
    refused(extend(buyer), "hold_extended")
    assert minutes_held(buyer.now()) == 60


def test_the_same_request_again_has_the_same_answer(acme):
    buyer = order(acme, acme.ticket())
    headers = {"Idempotency-Key": "k" * 32}
    answers = [extend(buyer, headers=headers) for _ in range(2)]
    assert statuses(answers) == [200, 200] and answers[0].json == answers[1].json


def test_what_is_paid_within_the_hour_is_in_time(acme, node):
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    assert extend(buyer).status_code == 200
    pass_hours(node, 0.9)
    worker_once(acme.app)
    assert buyer.now()["status"] == "awaiting_payment"
    buyer.pay(node, PRICE // 2)
    worker_once(acme.app)
    held = PaymentIntent.get_by_id(buyer.intent["id"])
    assert held.expires_at - held.created_at > EXCHANGE_HOLD  # half of it holds 10 minutes more
    buyer.pay(node, PRICE - PRICE // 2)
    worker_once(acme.app)
    paid = buyer.now()
    assert (paid["status"], paid["flags"]) == ("confirmed", [])


def test_it_expires_after_the_hour(acme, node):
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    assert extend(buyer).status_code == 200
    pass_hours(node, 1.1)
    worker_once(acme.app)
    assert buyer.now()["status"] == "expired"
    refused(extend(buyer), "hold_extended")


@pytest.mark.parametrize("status", ["expired", "canceled", "processing", "confirmed", "reversed"])
def test_only_an_order_that_awaits_its_payment_is_held_longer(acme, status):
    buyer = order(acme, acme.ticket())
    PaymentIntent.update(status=status).execute()
    refused(extend(buyer), "hold_not_extendable")


def test_an_order_that_waits_for_a_late_payment_to_return_is_not_held_longer(acme):
    buyer = order(acme, acme.ticket())
    PaymentIntent.update(ended_at=PaymentIntent.created_at).execute()
    refused(extend(buyer), "hold_not_extendable")


def test_neither_free_tickets_nor_those_of_agents_are_held_longer(acme):
    refused(extend(order(acme, acme.ticket(**FREE))), "hold_not_extendable")
    of_agent = order(acme, acme.ticket())
    PaymentIntent.update(x402=True).execute()
    refused(extend(of_agent), "hold_not_extendable")


def test_a_hold_of_an_hour_is_long_enough(environ, acme):
    environ["HOLD_SECONDS"] = "3600"
    acme.app = new_app(environ)
    refused(extend(order(acme, acme.ticket())), "hold_not_extendable")


def test_it_is_refused_while_others_want_the_seats(acme):
    ticket = acme.ticket(capacity=10)
    buyer = order(acme, ticket, quantity=4)
    assert extend(order(acme, ticket, quantity=4)).status_code == 200
    order(acme, ticket, quantity=2)  # now 6 of 10 are held by others
    refused(extend(buyer), "hold_not_extendable")
    assert buyer.now()["expires_at"] == buyer.intent["expires_at"]


def test_the_capacity_of_the_event_counts_too(acme):
    event = acme.event(capacity=6)
    ticket = acme.ticket(event, capacity=None)
    buyer = order(acme, ticket, quantity=2)
    order(acme, ticket, quantity=4)
    refused(extend(buyer), "hold_not_extendable")


def test_two_unpaid_orders_of_a_network_are_held_longer_in_a_day(limited, acme, time):
    ticket = acme.ticket(capacity=None)
    first, second, third = (order(acme, ticket) for _ in range(3))
    assert statuses([extend(first), extend(second)]) == [200, 200]
    time.forward(hours=2)
    PaymentIntent.update(status="expired").execute()
    of_third = PaymentIntent.id == third.intent["id"]
    PaymentIntent.update(status="awaiting_payment", created_at=clock.now()).where(
        of_third
    ).execute()
    answer = extend(third)
    refused(answer, "too_many_holds", 429)
    assert int(answer.headers["Retry-After"]) == 22 * 3600
    assert extend(order(acme, ticket, "192.0.2.2")).status_code == 200
    of_first = PaymentIntent.id == first.intent["id"]
    change_home(first.intent["id"], received=1)
    refused(extend(third), "too_many_holds", 429)
    PaymentIntent.update(status="confirmed").where(of_first).execute()
    assert extend(third).status_code == 200


def test_at_a_time_they_have_as_many_seats_of_an_event_as_one_order_may_have(limited, acme):
    ticket, other = (acme.ticket(acme.event(), capacity=None, max_per_order=6) for _ in range(2))
    assert extend(order(acme, ticket, quantity=4)).status_code == 200
    refused(extend(order(acme, ticket, quantity=3)), "too_much_unpaid", 429)
    # Another buyer, and another event.
    assert extend(order(acme, ticket, "192.0.2.2", quantity=3)).status_code == 200
    assert extend(order(acme, other, quantity=6)).status_code == 200


def test_of_ipv6_a_48_has_three_times_that(limited, acme):
    ticket = acme.ticket(capacity=None)
    of_each = [order(acme, ticket, f"2001:db8:1:{n}::1", quantity=5) for n in range(7)]
    assert statuses(extend(each) for each in of_each[:6]) == [200] * 6
    refused(extend(of_each[6]), "too_much_unpaid", 429)
    PaymentIntent.update(status="expired").where(PaymentIntent.hold_extended).execute()
    refused(extend(of_each[6]), "too_many_holds", 429)


def test_one_order_may_be_as_large_as_its_ticket_type_allows(limited, acme):
    ticket = acme.ticket(capacity=None, max_per_order=20)
    assert extend(order(acme, ticket, quantity=20)).status_code == 200


def test_of_many_requests_at_once_one_counts(acme):
    buyer = order(acme, acme.ticket())

    def ask(_):
        try:
            return extend(Buyer(acme, buyer.intent)).status_code
        finally:
            database.close()

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(ask, range(8))) == [200] + [409] * 7


def test_many_orders_of_a_network_at_once_are_held_to_the_same(limited, acme):
    ticket = acme.ticket(capacity=None)
    buyers = [order(acme, ticket) for _ in range(5)]

    def ask(buyer):
        try:
            return extend(buyer).status_code
        finally:
            database.close()

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(ask, buyers)) == [200] * 2 + [429] * 3


def test_the_page_does_the_same_without_javascript(acme):
    buyer = order(acme, acme.ticket())
    for _ in range(2):
        answer = press(buyer, "hold")
        assert answer.status_code == 303 and answer.location.endswith("?way=exchange")
    assert PaymentIntent.get().hold_extended
