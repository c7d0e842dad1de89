"""How much a client without a credential may order, and how long it is held."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import pytest

from tests.support.apps import new_app
from tests.support.factories import Api, Buyer, statuses
from tests.support.stopped_clock import START
from ticketing.db.connection import database

FREE = {"price_amount": 0, "chain_id": None, "capacity": None}

pytestmark = [pytest.mark.sql, pytest.mark.usefixtures("time")]


@pytest.fixture
def environ(environ):
    """Requests are not counted. Each test sets its limit of orders."""
    return {**environ, "HOLD_SECONDS": "900"}


@pytest.fixture
def few_unpaid(environ):
    environ["UNPAID_PER_ADDRESS"] = "10"


@pytest.fixture
def few_orders(environ):
    environ["ORDERS_PER_CLIENT"] = "4"


@pytest.fixture
def few_free(environ):
    environ["FREE_PER_CLIENT"] = "10"


def refused(answer, code):
    """Return the Retry-After of a 429 response with this code."""
    assert (answer.status_code, answer.json["code"]) == (429, code)
    return int(answer.headers["Retry-After"])


def hold(acme, ticket, address="192.0.2.1", quantity=4, **options):
    body = {"event_id": ticket["event_id"], "ticket_id": ticket["id"], "quantity": quantity}
    overrides = {"REMOTE_ADDR": address}
    api = Api(acme.app.test_client())
    return api.post(f"{acme.checkout}/preflight", body, environ_overrides=overrides, **options)


def test_an_address_holds_only_so_much_without_paying(few_unpaid, acme, time):
    ticket = acme.ticket(capacity=None)
    assert hold(acme, ticket).status_code == 201
    time.forward(seconds=100)
    assert hold(acme, ticket).status_code == 201

    refused = hold(acme, ticket)
    assert refused.status_code == 429
    assert refused.json["code"] == "too_much_unpaid"
    assert refused.headers["Retry-After"] == "800"
    assert acme.stock(ticket) == (8, 0)
    assert hold(acme, ticket, quantity=2).status_code == 201
    assert hold(acme, ticket, "192.0.2.2").status_code == 201


def test_what_is_paid_or_canceled_makes_room(few_unpaid, acme):
    ticket = acme.ticket(capacity=None, price_amount=0, chain_id=None)
    for end in (Buyer.purchase, Buyer.cancel):
        full = [hold(acme, ticket, quantity=5) for _ in range(2)]
        assert hold(acme, ticket).status_code == 429
        for each in full:
            assert end(Buyer(acme, each.json)).status_code == 200
    assert hold(acme, ticket).status_code == 201


def test_what_is_held_at_once_is_held_to_the_same(few_unpaid, acme):
    tickets = [acme.ticket(capacity=None) for _ in range(4)]

    def buy(n):
        try:
            return hold(acme, tickets[n % 4], quantity=3).status_code
        finally:
            database.close()

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(buy, range(16))) == [201] * 3 + [429] * 13


def test_one_order_may_be_larger_than_that(few_unpaid, acme):
    ticket = acme.ticket(capacity=None, max_per_order=20)
    assert hold(acme, ticket, quantity=20).status_code == 201
    assert hold(acme, ticket, quantity=1).status_code == 429


def test_a_storefront_with_a_key_may_hold_as_much_as_it_likes(few_unpaid, acme):
    ticket, headers = acme.ticket(capacity=None), {"X-API-Key": acme.key("paywall")}
    assert statuses(hold(acme, ticket, headers=headers) for _ in range(4)) == [201] * 4
    assert hold(acme, ticket, headers={"X-API-Key": acme.key("read")}).status_code == 403
    assert hold(acme, ticket, headers={"X-API-Key": "none"}).status_code == 401


def test_of_ipv6_a_48_holds_three_times_what_a_64_may(few_unpaid, acme):
    ticket = acme.ticket(capacity=None)
    held = [hold(acme, ticket, f"2001:db8:1:{net}::1", quantity=10) for net in range(5)]
    assert statuses(held) == [201] * 3 + [429] * 2
    assert hold(acme, ticket, "2001:db8:2::1", quantity=10).status_code == 201
    assert hold(acme, ticket, "2001:db8:1:1::2").status_code == 429


def test_a_client_is_issued_only_so_many_orders_a_day(few_orders, acme, time):
    ticket = acme.ticket(capacity=None)
    for n in range(4):
        order = hold(acme, ticket, quantity=1)
        assert order.status_code == 201
        if n % 2:
            assert Buyer(acme, order.json).cancel().status_code == 503  # there is no node
        time.forward(hours=1)
    assert refused(hold(acme, ticket, quantity=1), "too_many_orders") == 20 * 3600
    assert acme.stock(ticket) == (4, 0)
    assert hold(acme, ticket, "192.0.2.2").status_code == 201
    time.forward(hours=20, seconds=1)
    assert hold(acme, ticket, quantity=1).status_code == 201
    refused(hold(acme, ticket, quantity=1), "too_many_orders")


def test_canceled_orders_count_among_those_of_the_day(few_orders, acme):
    ticket = acme.ticket(**FREE)
    for _ in range(4):
        order = hold(acme, ticket)
        assert Buyer(acme, order.json).cancel().status_code == 200
    refused(hold(acme, ticket), "too_many_orders")
    assert acme.stock(ticket) == (0, 0)


def test_a_48_is_issued_three_times_the_orders(few_orders, acme):
    ticket = acme.ticket(**FREE)
    made = [hold(acme, ticket, f"2001:db8:1:{n % 5}::1") for n in range(15)]
    assert statuses(made) == [201] * 12 + [429] * 3


def test_orders_at_once_are_held_to_the_same(few_orders, acme):
    tickets = [acme.ticket(**FREE) for _ in range(4)]

    def buy(n):
        try:
            return hold(acme, tickets[n % 4]).status_code
        finally:
            database.close()

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(buy, range(16))) == [201] * 4 + [429] * 12


def test_a_client_has_only_so_many_free_seats_of_an_event_a_day(few_free, acme, time):
    event = acme.event()
    ticket, other = (acme.ticket(event, **FREE) for _ in range(2))
    for each in (ticket, other):
        assert Buyer(acme, hold(acme, each, quantity=4).json).purchase().status_code == 200
    time.forward(hours=2)
    assert refused(hold(acme, ticket, quantity=3), "too_many_free") == 22 * 3600
    assert hold(acme, ticket, quantity=2).status_code == 201  # held, but not yet confirmed
    refused(hold(acme, other, quantity=1), "too_many_free")

    assert hold(acme, acme.ticket(**FREE), quantity=10).status_code == 201
    assert hold(acme, acme.ticket(event, capacity=None), quantity=10).status_code == 201
    assert hold(acme, ticket, "192.0.2.2", quantity=10).status_code == 201
    headers = {"X-API-Key": acme.key("paywall")}
    assert hold(acme, ticket, quantity=10, headers=headers).status_code == 201
    time.forward(hours=22, seconds=1)
    assert hold(acme, ticket, quantity=8).status_code == 201


def test_free_seats_that_were_canceled_may_be_taken_again(few_free, acme):
    ticket = acme.ticket(**FREE)
    for _ in range(3):
        order = hold(acme, ticket, quantity=10)
        assert Buyer(acme, order.json).cancel().status_code == 200


def seconds_held(order):
    assert order.status_code == 201, order.json
    return (datetime.fromisoformat(order.json["expires_at"]) - START) / timedelta(seconds=1)


def test_under_pressure_an_order_without_a_credential_is_held_for_less(acme):
    headers = {"X-API-Key": acme.key("paywall")}
    ticket = acme.ticket(**{**FREE, "capacity": 20})
    assert Buyer(acme, hold(acme, ticket).json).purchase().status_code == 200  # 16 are unsold
    assert [seconds_held(hold(acme, ticket)) for _ in range(2)] == [900, 900]
    assert seconds_held(hold(acme, ticket, quantity=1)) == 900  # 8 of 16 are not more than half
    assert seconds_held(hold(acme, ticket, quantity=1)) == 300
    assert seconds_held(hold(acme, ticket, quantity=1, headers=headers)) == 900
    assert seconds_held(hold(acme, acme.ticket(**FREE))) == 900


def test_a_hold_that_is_short_already_stays_as_it_is(environ, acme):
    environ["HOLD_SECONDS"] = "60"
    acme.app = new_app(environ)
    ticket = acme.ticket(**{**FREE, "capacity": 5})
    assert [seconds_held(hold(acme, ticket, quantity=n)) for n in (3, 1)] == [60, 60]


def test_a_ticket_type_that_requires_a_key_is_for_credentials_alone(acme):
    ticket = acme.ticket(requires_key=True, **FREE)
    answer = hold(acme, ticket)
    assert (answer.status_code, answer.json["code"]) == (401, "key_required")
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert acme.stock(ticket) == (0, 0)
    for role in ("paywall", "write"):
        assert hold(acme, ticket, headers={"X-API-Key": acme.key(role)}).status_code == 201
    answer = hold(acme, ticket, headers={"X-API-Key": acme.key("read")})
    assert (answer.status_code, answer.json["code"]) == (403, "insufficient_role")

    path = f"{acme.path}/events/{ticket['event_id']}/tickets/{ticket['id']}"
    owner = acme.with_headers({"X-API-Key": acme.admin_key})
    assert owner.patch(path, {"requires_key": False}).json["requires_key"] is False
    assert hold(acme, ticket).status_code == 201
    # A client that cannot see the ticket must not learn that it needs a key.
    owner.post(f"{path}/status", {"status": "canceled"})
    owner.patch(path, {"requires_key": True})
    assert hold(acme, ticket).status_code == 404


@pytest.fixture
def shares(environ):
    environ["UNPAID_PER_ADDRESS"] = "100"


ENDED = {"price_amount": 0, "chain_id": None}


def test_a_client_holds_only_its_share_of_an_event_unpaid(shares, acme, time):
    small, large = acme.ticket(capacity=100), acme.ticket(capacity=1000)
    assert statuses(hold(acme, small, quantity=5) for _ in range(3)) == [201, 201, 429]
    time.forward(seconds=100)
    assert refused(hold(acme, small, quantity=1), "too_much_unpaid") == 800
    assert acme.stock(small) == (10, 0)
    assert statuses(hold(acme, large, quantity=10) for _ in range(6)) == [201] * 5 + [429]
    assert hold(acme, small, "192.0.2.2", quantity=10).status_code == 201
    headers = {"X-API-Key": acme.key("paywall")}
    assert hold(acme, small, quantity=10, headers=headers).status_code == 201


def test_the_share_is_of_the_venue_if_that_is_smaller(shares, acme):
    event = acme.event(capacity=100)
    tickets = [acme.ticket(event, capacity=capacity) for capacity in (1000, None)]
    held = [hold(acme, tickets[number % 2], quantity=5) for number in range(3)]
    assert statuses(held) == [201, 201, 429]


def test_ticket_types_in_one_order_share_as_they_do_in_several(shares, acme):
    """A client that holds some cannot take the rest of a venue by one order of ten types."""
    event = acme.event(capacity=100, carts=True)
    types = [acme.ticket(event, capacity=None) for _ in range(10)]
    assert hold(acme, types[0], quantity=1).status_code == 201
    items = [{"ticket_id": each["id"], "quantity": 9} for each in types]
    address, api = {"REMOTE_ADDR": "192.0.2.1"}, Api(acme.app.test_client())

    def cart(items):
        body = {"event_id": event["id"], "items": items}
        return api.post(f"{acme.checkout}/preflight", body, environ_overrides=address)

    refused(cart(items), "too_much_unpaid")
    assert cart([{**each, "quantity": 1} for each in items[:3]]).status_code == 201


def test_a_48_has_three_times_the_share(shares, acme):
    ticket = acme.ticket(capacity=100)
    held = [hold(acme, ticket, f"2001:db8:1:{net}::1", quantity=10) for net in range(4)]
    assert statuses(held) == [201] * 3 + [429]


def test_what_is_held_at_once_is_held_to_the_share(shares, acme):
    event = acme.event()
    tickets = [acme.ticket(event, capacity=100) for _ in range(4)]

    def buy(n):
        try:
            return hold(acme, tickets[n % 4], quantity=5).status_code
        finally:
            database.close()

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(buy, range(16))) == [201] * 2 + [429] * 14


def test_orders_that_ended_unpaid_halve_the_share_while_seats_are_scarce(shares, acme):
    ticket = acme.ticket(capacity=1000, **ENDED)
    for _ in range(2):
        assert Buyer(acme, hold(acme, ticket, quantity=10).json).cancel().status_code == 200
    # Nobody else wants them: the share is 50 still.
    assert statuses(hold(acme, ticket, quantity=10) for _ in range(6)) == [201] * 5 + [429]
    others = {"X-API-Key": acme.key("paywall")}
    more = [hold(acme, ticket, quantity=10, headers=others) for _ in range(46)]
    assert set(statuses(more)) == {201}
    # 510 of 1,000 are held. An address without an ended order has 50.
    fresh = [hold(acme, ticket, "192.0.2.2", quantity=10) for _ in range(6)]
    assert statuses(fresh) == [201] * 5 + [429]
    for each in fresh[:2]:
        assert Buyer(acme, each.json).cancel().status_code == 200
    for each in fresh[2:5]:
        assert hold(acme, ticket, "192.0.2.2", quantity=1).status_code == 429
        assert Buyer(acme, each.json).cancel().status_code == 200
    # Five ended orders leave one at a time.
    assert hold(acme, ticket, "192.0.2.2", quantity=10).status_code == 201
    assert hold(acme, ticket, "192.0.2.2", quantity=1).status_code == 429


def test_ended_orders_do_not_count_against_who_paid_for_this_event(shares, acme, node):
    event = acme.event(capacity=101)
    buyer = Buyer(acme, hold(acme, acme.ticket(event), quantity=1).json)
    buyer.pay(node)
    assert buyer.purchase().status_code == 200
    ticket = acme.ticket(event, capacity=100, **ENDED)
    for address in ("192.0.2.1", "192.0.2.2"):
        for _ in range(4):
            order = hold(acme, ticket, address, quantity=1)
            assert Buyer(acme, order.json).cancel().status_code == 200
    others = {"X-API-Key": acme.key("paywall")}
    assert set(statuses(hold(acme, ticket, quantity=10, headers=others) for _ in range(6))) == {201}
    paid = [hold(acme, ticket, "192.0.2.1", quantity=2) for _ in range(6)]
    assert statuses(paid) == [201] * 5 + [429]
    assert statuses(hold(acme, ticket, "192.0.2.2", quantity=2) for _ in range(2)) == [201, 429]
