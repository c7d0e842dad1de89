"""Sales per day in the event's zone, and the figures of all events."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from tests.conftest import SECRET_KEY
from tests.support.admissions import FREE, admissions_of, given, void
from tests.support.books import change_home
from tests.support.factories import PRICE
from ticketing import clock
from ticketing.credentials import Keyring
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services.catalog import sales_figures
from ticketing.services.pagination import PageRequest

pytestmark = pytest.mark.sql

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


@pytest.fixture(autouse=True)
def today(monkeypatch):
    """Let it be noon of a day."""
    monkeypatch.setattr(clock, "now", lambda: NOW)


@pytest.fixture
def admin(acme):
    """A client with acme's key. A JWT ends by the clock of the machine."""
    return acme.with_headers({"X-API-Key": acme.admin_key})


def confirm(buyer, at):
    """Confirm an order in the database at a time, as if it was paid."""
    intent_id = buyer.intent["id"]
    changed = PaymentIntent.update(status="confirmed", confirmed_at=at)
    assert changed.where(PaymentIntent.id == intent_id).execute()
    change_home(intent_id, received=buyer.intent["amount"], sold_at=at)


def sales(api, organizer, **query):
    answer = api.get(f"{organizer.path}/sales", query_string=query)
    assert answer.status_code == 200, answer.json
    return answer.json["data"]


def day(date, orders=1, tickets=1, amount=PRICE):
    counts = {"orders": orders, "tickets": tickets, "amount": amount}
    return {"day": date, "merchandise": 0, **counts, "kept": amount, "owed": 0, "refunded": 0}


def test_a_day_is_one_of_the_events_zone_and_of_utc_without_an_event(acme, admin):
    ticket = acme.ticket(acme.event(timezone="Asia/Kathmandu"), capacity=None)
    # Kathmandu is 5 hours and 45 minutes ahead.
    for minute in (14, 15):
        confirm(acme.buyer(ticket), datetime(2026, 11, 20, 18, minute, 59, 999_999, tzinfo=UTC))
    assert sales(admin, acme, event_id=ticket["event_id"]) == [day("2026-11-20"), day("2026-11-21")]
    assert sales(admin, acme, by="day") == [day("2026-11-20", 2, 2, 2 * PRICE)]


def test_a_day_in_which_clocks_change_is_one_day(acme, admin):
    ticket = acme.ticket(acme.event(timezone="Europe/Berlin"), capacity=None)
    # 25 hours: from 22:00 UTC to 23:00 UTC.
    first = datetime(2026, 10, 24, 22, tzinfo=UTC)
    for after in (timedelta(seconds=-1), timedelta(0), timedelta(hours=24, minutes=59)):
        confirm(acme.buyer(ticket), first + after)
    found = sales(admin, acme, event_id=ticket["event_id"])
    assert [(each["day"], each["orders"]) for each in found] == [
        ("2026-10-24", 1),
        ("2026-10-25", 2),
    ]


def test_orders_tickets_and_amounts_are_counted_of_confirmed_orders_only(acme, admin):
    event = acme.event(timezone="UTC")
    ticket, free = acme.ticket(event, capacity=None), acme.ticket(event, **FREE)
    for quantity in (1, 3):
        confirm(acme.buyer(ticket, quantity=quantity), NOW)
    acme.buyer(free, quantity=2).purchase()
    acme.buyer(ticket)
    guests = f"{acme.path}/events/{event['id']}/tickets/{free['id']}/admissions"
    assert admin.post(guests, {"holders": [{"name": "Ada"}]}).status_code == 201
    assert sales(admin, acme, event_id=event["id"]) == [day("2026-11-22", 3, 6, 4 * PRICE)]


def test_the_last_366_days_are_counted(acme, admin):
    ticket = acme.ticket(acme.event(timezone="UTC"), capacity=None)
    start = datetime(2025, 11, 22, tzinfo=UTC)
    for at in (start, start - timedelta(microseconds=1), NOW):
        confirm(acme.buyer(ticket), at)
    for query in ({"event_id": ticket["event_id"]}, {}):
        days = [each["day"] for each in sales(admin, acme, **query)]
        assert days == ["2025-11-22", "2026-11-22"]


def test_other_tenants_and_other_events_do_not_count(acme, neighbour, admin):
    ticket, other = acme.ticket(), acme.ticket()
    confirm(acme.buyer(ticket), NOW)
    sold = neighbour.ticket()
    confirm(neighbour.buyer(sold), NOW)
    assert sales(admin, acme, event_id=other["event_id"]) == []
    assert sales(admin, acme) == [day("2026-11-22")]
    assert sales(admin, acme, event_id=sold["event_id"]) == []
    assert sales(admin, acme, event_id="evt_x") == []


def overview(organizer, cursor=None, limit=100):
    page = PageRequest(limit, cursor, Keyring(SECRET_KEY))
    return sales_figures.overview(organizer.id, page)


def test_the_overview_has_what_is_sold_held_free_and_who_entered(acme, admin):
    event = acme.event(capacity=20)
    ticket, free = acme.ticket(event, capacity=10), acme.ticket(event, **FREE, capacity=15)
    acme.ticket(event, capacity=100, status="draft")
    confirm(acme.buyer(ticket, quantity=2), NOW)
    seats = acme.buyer(free, quantity=3).purchase().json["admissions"]
    scans = f"/v1/door/tenants/{acme.slug}/events/{event['id']}"
    admin.patch(f"{acme.path}/events/{event['id']}", {"doors_open_at": "2026-11-22T00:00:00Z"})
    scan = {"kind": "redeem", "code": seats[0]["code"], "at": "2026-11-22T11:00:00Z"}
    nonce = "6f0c1d1e-8a55-4b0e-9d3c-2b1f0e9d8c7b"
    sent = {"sent_at": "2026-11-22T12:00:00Z", "scans": [{**scan, "nonce": nonce}]}
    assert admin.post(f"{scans}/scans", sent).json["results"][0]["outcome"] == "admitted"
    (figures,) = overview(acme).data
    assert figures.event.id == event["id"]
    assert (figures.held, figures.sold, figures.redeemed) == (2, 3, 1)
    assert figures.free == min(20 - 5, (10 - 2) + (15 - 3))
    # The order that was confirmed by hand has no tickets.
    assert (figures.tickets, figures.guests, figures.kept) == (3, 0, 2 * PRICE)


@pytest.mark.parametrize(
    ("capacity", "of_type", "free"), [(None, None, None), (7, None, 7), (None, 5, 5), (3, 5, 3)]
)
def test_free_is_the_smaller_of_both_limits(acme, capacity, of_type, free):
    acme.ticket(acme.event(capacity=capacity), capacity=of_type)
    assert overview(acme).data[0].free == free


def test_an_event_without_ticket_types_has_nothing_free(acme):
    acme.event()
    (figures,) = overview(acme).data
    assert (figures.free, figures.sold, figures.tickets, figures.kept) == (0, 0, 0, 0)


def test_the_overview_comes_in_pages_the_latest_event_first(acme, neighbour):
    neighbour.event()
    for number in range(3):
        acme.event(start_at=f"2027-0{number + 1}-01T00:00:00Z")
    first = overview(acme, limit=2)
    rest = overview(acme, first.next_cursor)
    starts = [figures.event.start_at for figures in (*first.data, *rest.data)]
    assert len(starts) == 3 and rest.next_cursor is None
    assert all(one > other for one, other in pairwise(starts))


def test_merchandise_is_no_ticket(acme, admin):
    event = acme.event(capacity=9)
    seat = acme.ticket(event, **FREE)
    shirt = acme.ticket(event, **FREE, admission=False)
    given(acme, seat, quantity=2)
    first = given(acme, shirt, quantity=3)
    assert void(acme, admissions_of(first)[0]).status_code == 200
    guests = f"{acme.path}/events/{event['id']}/tickets"
    for ticket in (seat, shirt):
        path = f"{guests}/{ticket['id']}/admissions"
        assert admin.post(path, {"holders": [{"name": "Ada"}]}).status_code == 201
    of_event = sales(admin, acme, event_id=event["id"])
    assert of_event == sales(admin, acme)
    assert [(each["orders"], each["tickets"], each["merchandise"]) for each in of_event] == [
        (2, 2, 2)
    ]
    page = sales_figures.overview(acme.id, PageRequest(10, None, Keyring(SECRET_KEY)))
    (figures,) = page.data
    assert (figures.tickets, figures.guests, figures.merchandise) == (2, 1, 3)
    assert (figures.sold, figures.held, figures.redeemed) == (3, 0, 0)
    assert sales_figures.tickets_of(acme.id) == sales_figures.Tickets(2, 1, 3)
