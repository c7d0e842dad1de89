"""How SQLite finds the figures of an event. It has no statistics, so it may take a wrong index.

`make bench-growth` measures them in a shop with many orders.
"""

from functools import partial

import pytest

from tests.support.databases import on_sqlite
from tests.support.query_plans.recorder import indexes_read_by
from ticketing.models.events import Event
from ticketing.services.catalog import sales_by, sales_figures

pytestmark = on_sqlite


@pytest.mark.parametrize("by", ["voucher", "tag"])
def test_seats_that_used_a_voucher_are_found_by_their_orders(acme, by):
    """By their ticket type, these would be all seats of the event, for each order."""
    event_id = acme.ticket()["event_id"]

    found = indexes_read_by(
        partial(sales_by.read, acme.id, event_id, sales_by.SalesBy(by), shows_codes=True)
    )

    assert ("admissions", "admissions_of_intent") in found
    assert ("admissions", "admissions_of_ticket_type") not in found


def test_the_people_of_events_are_counted_in_indexes(acme):
    """The row of no seat is read."""
    events = [acme.ticket()["event_id"] for _ in range(2)]

    found = indexes_read_by(lambda: sales_figures.of_event(Event.get_by_id(events[0])))
    found |= indexes_read_by(partial(sales_figures.tickets_of, acme.id))

    of_admissions = {index for table, index in found if table == "admissions"}
    assert of_admissions == {
        "admissions_of_ticket_type",
        "guests_of_event",
        "admissions_of_event_redeemed",
    }
