"""An event's own capacity: a limit over all its ticket types."""

from datetime import datetime

import pytest

from tests.support.admissions import FREE, admissions_of, given, invite, sold, void
from tests.support.factories import PRICE, Api, worker_once
from ticketing.models.ticket_types import EventStock
from ticketing.services.payments import reconciliation

pytestmark = pytest.mark.sql


def shown(acme, event):
    """What the organizer sees of the event's stock."""
    found = acme.api().get(f"{acme.path}/events/{event['id']}").json
    return found["capacity"], found["held"], found["sold"], found["available"]


def counted(event):
    """What the event's own row counts, None if there is none."""
    row = EventStock.get_or_none(EventStock.event == event["id"])
    return row and (row.capacity, row.held, row.sold)


def set_capacity(acme, event, capacity):
    api = acme.with_headers({"X-API-Key": acme.admin_key})
    return api.patch(f"{acme.path}/events/{event['id']}", {"capacity": capacity})


def availabilities(acme, event):
    found = Api(acme.app.test_client()).get(f"{acme.public}/events/{event['id']}/tickets")
    return [each["availability"] for each in found.json["data"]]


@pytest.fixture
def event(acme):
    return acme.event(capacity=3)


@pytest.fixture
def tickets(acme, event):
    """Two free ticket types of it, each with room for more."""
    return [acme.ticket(event, **FREE, capacity=capacity) for capacity in (10, None)]


def test_it_limits_all_ticket_types_together(acme, event, tickets):
    first, second = tickets
    given(acme, first, quantity=2)
    assert acme.preflight(second, quantity=2).json["code"] == "sold_out"
    waiting = acme.buyer(second)
    for ticket in tickets:
        assert acme.preflight(ticket).json["code"] == "sold_out"
    assert shown(acme, event) == (3, 1, 2, 0)
    assert counted(event) == (3, 1, 2)
    assert waiting.cancel().status_code == 200
    assert counted(event) == (3, 0, 2)
    given(acme, first)
    assert (counted(event), shown(acme, event)) == ((3, 0, 3), (3, 0, 3, 0))
    assert reconciliation.reconcile(None) == []


def test_guests_and_voids_count(acme, event, tickets):
    first, second = tickets
    assert invite(acme, first, {}, {}).status_code == 201
    refused = invite(acme, second, {}, {})
    assert (refused.status_code, refused.json["code"]) == (409, "sold_out")
    assert counted(event) == (3, 0, 2)
    (admission,) = admissions_of(given(acme, second))
    assert void(acme, admission).status_code == 200
    assert counted(event) == (3, 0, 2)
    assert acme.preflight(first).status_code == 201
    assert reconciliation.reconcile(None) == []


def test_a_sold_out_event_shows_at_once(acme, event, tickets):
    first, second = tickets
    assert availabilities(acme, event) == ["on_sale", "on_sale"]
    buyer = acme.buyer(first, quantity=3)
    assert availabilities(acme, event) == ["held", "held"]
    path = f"{acme.path}/events/{event['id']}"
    assert acme.api().get(path).json["obstacles"] == ["sold_out"]
    for ticket in acme.api().get(f"{path}/tickets").json["data"]:
        assert ticket["obstacles"] == ["sold_out"]
    assert acme.api().get(f"{path}/tickets/{second['id']}").json["obstacles"] == ["sold_out"]
    buyer.cancel()
    assert availabilities(acme, event) == ["on_sale", "on_sale"]
    assert acme.api().get(path).json["obstacles"] == []


def test_it_can_be_set_lowered_and_removed_while_on_sale(acme, event, tickets):
    first, second = tickets
    given(acme, first, quantity=2)
    waiting = acme.buyer(second)
    refused = set_capacity(acme, event, 2)
    assert (refused.status_code, refused.json["code"]) == (409, "capacity_too_low")
    assert counted(event) == (3, 1, 2)
    assert set_capacity(acme, event, None).json["capacity"] is None
    assert (counted(event), shown(acme, event)) == (None, (None, 1, 2, None))
    assert waiting.purchase().status_code == 200
    given(acme, second, quantity=2)
    refused = set_capacity(acme, event, 4)
    assert (refused.status_code, refused.json["code"]) == (409, "capacity_too_low")
    assert counted(event) is None
    assert set_capacity(acme, event, 5).json["available"] == 0
    assert counted(event) == (5, 0, 5)
    assert acme.preflight(first).json["code"] == "sold_out"
    assert set_capacity(acme, event, 6).status_code == 200
    assert acme.preflight(first).status_code == 201
    assert reconciliation.reconcile(None) == []


def test_a_change_of_something_else_leaves_it(acme, event):
    answer = acme.api().patch(f"{acme.path}/events/{event['id']}", {"title": "Other"})
    assert (answer.json["capacity"], counted(event)) == (3, (3, 0, 0))


def test_an_order_that_expires_gives_its_seats_back(acme, node, event):
    ticket = acme.ticket(event)
    worker_once(acme.app)
    acme.buyer(ticket, quantity=3)
    pass_time(acme, node)
    assert (counted(event), shown(acme, event)) == ((3, 0, 0), (3, 0, 0, 3))


def pass_time(acme, node):
    """Let every deadline pass by the chain's clock."""
    node.rpc("evm_increaseTime", 7200)
    node.rpc("anvil_mine", "0x1")
    worker_once(acme.app)


@pytest.mark.parametrize("is_full", [True, False])
def test_a_late_payment_needs_a_seat_of_the_event_too(acme, node, event, is_full):
    ticket, other = acme.ticket(event), acme.ticket(event, **FREE)
    worker_once(acme.app)
    late = acme.buyer(ticket, quantity=2)
    pass_time(acme, node)
    given(acme, other, quantity=2 if is_full else 1)
    late.pay(node)
    worker_once(acme.app)
    now = late.now()
    expected = ("expired", 2 * PRICE) if is_full else ("confirmed", 0)
    assert (now["status"], now["refund_due"]) == expected
    assert counted(event) == ((3, 0, 2) if is_full else (3, 0, 3))
    assert reconciliation.reconcile(None) == []


def test_a_canceled_event_or_ticket_type_holds_and_sells_nothing(acme, node, event, tickets):
    ticket = acme.ticket(event)
    sold(acme, node, ticket)
    invite(acme, tickets[0], {})
    acme.buyer(tickets[1])
    path = f"{acme.path}/events/{event['id']}"
    canceled = {"status": "canceled"}
    assert acme.api().post(f"{path}/tickets/{tickets[1]['id']}/status", canceled).status_code == 200
    assert counted(event) == (3, 0, 2)
    assert acme.api().post(f"{path}/status", canceled).status_code == 200
    assert (counted(event), shown(acme, event)) == ((3, 0, 0), (3, 0, 0, 3))
    assert reconciliation.reconcile(None) == []


def test_under_pressure_orders_are_held_for_a_shorter_time(acme):
    event = acme.event(capacity=10)
    ticket = acme.ticket(event, **FREE, capacity=None)

    def minutes():
        intent = acme.buyer(ticket).intent
        created, expires = (
            datetime.fromisoformat(intent[name]) for name in ("created_at", "expires_at")
        )
        return round((expires - created).total_seconds() / 60)

    acme.buyer(ticket, quantity=5)
    assert (minutes(), minutes()) == (15, 5)
