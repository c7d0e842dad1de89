"""Crowds: many people behind one address, for whom an organizer raises the limits."""

import pytest

from tests.support.admissions import FREE
from tests.support.factories import Api, Buyer, statuses
from ticketing.models.payment_intents import PaymentIntent

pytestmark = pytest.mark.sql

SCHOOL = {"network": "203.0.113.0/24", "seats": 30}


@pytest.fixture
def environ(environ):
    limits = {"FREE_PER_CLIENT": "10", "UNPAID_PER_ADDRESS": "20", "ORDERS_PER_CLIENT": "12"}
    return {**environ, **limits, "CROWD_MOST": "300"}


def order(acme, ticket, address, quantity=1):
    body = {"event_id": ticket["event_id"], "ticket_id": ticket["id"], "quantity": quantity}
    api = Api(acme.app.test_client())
    return api.post(f"{acme.checkout}/preflight", body, environ_overrides={"REMOTE_ADDR": address})


def refused(answer, status, code):
    assert (answer.status_code, answer.json["code"]) == (status, code), answer.json


def change(acme, event, crowds):
    return acme.api().put(f"{acme.path}/events/{event['id']}/crowds", {"crowds": crowds})


def crowded(acme, crowds=(SCHOOL,)):
    """An event with crowds."""
    event = acme.event()
    assert change(acme, event, list(crowds)).status_code == 200
    return event


def test_the_people_of_a_crowd_order_together_what_the_organizer_says(acme):
    event = crowded(acme)
    ticket = acme.ticket(event, **FREE, capacity=None)
    made = [order(acme, ticket, f"203.0.113.{host}", 2) for host in range(15)]
    assert statuses(made) == [201] * 15
    # Each is confirmed at once, as pages do, so none of them is unpaid.
    for each in made:
        buyer = Buyer(acme, each.json)
        assert buyer.api.post(f"{buyer.path}/purchase").status_code == 200
    refused(order(acme, ticket, "203.0.113.99"), 429, "too_many_free")
    # Everybody else has the usual limits, also of another event.
    assert order(acme, ticket, "203.0.114.1", 10).status_code == 201
    refused(order(acme, ticket, "203.0.114.1"), 429, "too_many_free")
    other = acme.ticket(acme.event(), **FREE, capacity=None)
    assert order(acme, other, "203.0.113.1", 10).status_code == 201
    refused(order(acme, other, "203.0.113.1"), 429, "too_many_free")


def test_it_holds_as_many_unpaid_seats_of_a_scarce_event_and_no_more(acme):
    ticket = acme.ticket(crowded(acme), capacity=60)
    assert statuses(order(acme, ticket, f"203.0.113.{host}", 10) for host in range(3)) == [201] * 3
    refused(order(acme, ticket, "203.0.113.9"), 429, "too_much_unpaid")
    # A stranger has a share, and somebody else buys meanwhile.
    assert order(acme, ticket, "192.0.2.1", 10).status_code == 201
    refused(order(acme, ticket, "192.0.2.1"), 429, "too_much_unpaid")
    assert order(acme, ticket, "192.0.2.2").status_code == 201


def test_of_two_networks_the_smaller_one_counts_and_ipv6_too(acme):
    crowds = [
        {"network": "203.0.0.0/16", "seats": 1},
        SCHOOL,
        {"network": "2001:db8:7::1/48", "seats": 40},
    ]
    event = crowded(acme, crowds)
    read = acme.api().get(f"{acme.path}/events/{event['id']}/crowds").json
    assert read["crowds"][2] == {"network": "2001:db8:7::/48", "seats": 40}
    ticket = acme.ticket(event, capacity=None)
    assert statuses(order(acme, ticket, "203.0.113.5", 10) for _ in range(3)) == [201] * 3
    of_v6 = [order(acme, ticket, f"2001:db8:7:{host}::1", 10) for host in range(4)]
    assert statuses(of_v6) == [201] * 4
    refused(order(acme, ticket, "2001:db8:7:99::1"), 429, "too_much_unpaid")
    # A crowd never has less than any client.
    assert statuses(order(acme, ticket, "203.0.9.9", 10) for _ in range(2)) == [201] * 2


def test_the_network_is_not_stored_in_the_clear(acme):
    ticket = acme.ticket(crowded(acme))
    assert order(acme, ticket, "203.0.113.1").status_code == 201
    made = PaymentIntent.get()
    assert made.held_by.startswith("crowd:") and made.held_by_site is None
    assert "203.0" not in made.held_by


def test_the_operator_bounds_it_and_wrong_ones_are_refused(acme):
    event = acme.event()
    for crowds, where in (
        ([{**SCHOOL, "seats": 301}], "crowds.0.seats"),
        ([{**SCHOOL, "seats": 0}], "crowds.0.seats"),
        ([{"network": "203.0.0.0/15", "seats": 1}], "crowds.0.network"),
        ([{"network": "2001:d00::/31", "seats": 1}], "crowds.0.network"),
        ([{"network": "a school", "seats": 1}], "crowds.0.network"),
        ([SCHOOL, {**SCHOOL, "network": "203.0.113.7/24"}], "crowds"),
        ([{"network": f"192.0.2.{host}", "seats": 1} for host in range(11)], "crowds"),
    ):
        answer = change(acme, event, crowds)
        refused(answer, 422, "invalid_request")
        assert list(answer.json["errors"]) == [where]
    assert change(acme, event, [SCHOOL]).json["crowds"] == [SCHOOL]
    assert change(acme, event, []).json["crowds"] == []


def test_buyers_do_not_see_it(acme):
    event = crowded(acme)
    acme.ticket(event)
    found = Api(acme.app.test_client()).get(f"/v1/public/tenants/acme/events/{event['id']}")
    assert found.status_code == 200 and "203.0.113" not in found.text
