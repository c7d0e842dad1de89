"""What the public learns when little is left: few, held by unpaid orders, or sold out."""

import json
import re
from datetime import timedelta

import pytest

from tests.support.admissions import FREE, admissions_of, given, void
from tests.support.apps import new_app
from tests.support.factories import Api
from tests.support.mcp import call
from tests.support.stopped_clock import StoppedClock
from ticketing import clock
from ticketing.db.connection import database
from ticketing.models.items import IntentItem
from ticketing.models.payment_intents import PaymentIntent

pytestmark = pytest.mark.sql


@pytest.fixture
def event(acme):
    return acme.event(timezone="Europe/Berlin", slug="night")


@pytest.fixture
def listed(acme, event, environ):
    """Read availability and `held_until` of each ticket type, through another process."""
    elsewhere = Api(new_app(environ).test_client())

    def read():
        found = elsewhere.get(f"{acme.public}/events/{event['id']}/tickets").json["data"]
        return [(each["availability"], each["held_until"]) for each in found]

    return read


@pytest.fixture
def page(acme, event, api):
    """Read the text of the page of the event, and the availability in its JSON-LD."""

    def read():
        text = api.get("/acme/night").text
        data = json.loads(re.search(r'ld\+json">(.*?)</script>', text)[1])
        offers = [each["availability"].rsplit("/", 1)[1] for each in data["offers"]]
        return " ".join(text.split("<main", 1)[1].split()), offers

    return read


def end(buyer):
    return buyer.intent["expires_at"]


def shift(buyer, **delta):
    """Change when an unpaid order ends. Return the new end as the API writes it."""
    at = PaymentIntent.get_by_id(buyer.intent["id"]).expires_at + timedelta(**delta)
    PaymentIntent.update(expires_at=at).where(PaymentIntent.id == buyer.intent["id"]).execute()
    return clock.rfc3339(at)


def test_held_is_not_sold_out(acme, event, listed, page):
    ticket = acme.ticket(event, capacity=3, **FREE)
    given(acme, ticket)
    first, second = acme.buyer(ticket), acme.buyer(ticket)
    assert listed() == [("held", end(first))]
    found = call(acme.with_headers({}), "list_tickets", tenant="acme", event_id=event["id"])
    (of_agent,) = found["data"]
    assert (of_agent["availability"], of_agent["held_until"]) == ("held", end(first))
    text, offers = page()
    at = PaymentIntent.get_by_id(first.intent["id"]).expires_at
    local = at + timedelta(hours=1)  # in November
    assert "All are being paid for at the moment." in text and "Sold out" not in text
    assert re.search(r"Some may come back at [0-9:]{5} \(Europe/Berlin\)\.", text), local
    assert offers == ["Reserved"]

    assert first.purchase().status_code == second.purchase().status_code == 200
    assert listed() == [("sold_out", None)]
    text, offers = page()
    assert "Sold out" in text and offers == ["SoldOut"]

    assert void(acme, admissions_of(first)[0]).status_code == 200
    assert listed() == [("on_sale", None)]
    last = acme.buyer(ticket)
    assert listed() == [("held", end(last))]


def test_it_says_the_first_end_of_the_orders_that_hold_that_ticket_type(acme, event, listed):
    one, other = (acme.ticket(event, capacity=2) for _ in range(2))
    late, early = acme.buyer(one), acme.buyer(one)
    of_other = acme.buyer(other)
    end_of_other = shift(of_other, minutes=-9)
    shift(late, minutes=5)
    of_early = shift(early, minutes=-5)
    assert listed() == [("held", of_early), ("on_sale", None)]

    # An order of several ticket types holds seats of each.
    IntentItem.create(
        intent=of_other.intent["id"],
        position=1,
        ticket_type=one["id"],
        quantity=1,
        list_amount=0,
        unit_amount=0,
        admission=True,
        vouchered=False,
    )
    acme.api().patch(f"{acme.path}/events/{event['id']}", {"title": "Other"})
    assert listed()[0] == ("held", end_of_other)


def test_a_full_event_counts_the_orders_of_all_its_ticket_types(acme, listed, event, admin):
    assert admin.patch(f"{acme.path}/events/{event['id']}", {"capacity": 2}).status_code == 200
    one, other = (acme.ticket(event) for _ in range(2))
    shirt = acme.ticket(event, admission=False)
    assert shirt["available"] is not None
    first, second = acme.buyer(one), acme.buyer(other)
    ends = min(end(first), end(second))
    assert listed() == [("held", ends), ("held", ends), ("on_sale", None)]


def test_an_order_that_is_being_settled_holds_too_but_comes_back_at_no_time(acme, event, listed):
    buyer = acme.buyer(acme.ticket(event, capacity=1))
    of_it = PaymentIntent.update(status="processing", paid_block=1)
    of_it.where(PaymentIntent.id == buyer.intent["id"]).execute()
    assert listed() == [("held", None)]


def test_what_is_cached_looks_again_after_a_minute_and_when_an_order_ends(
    acme, event, listed, monkeypatch
):
    stopped = StoppedClock(monkeypatch, clock.now())
    ticket = acme.ticket(event, capacity=2, **FREE)
    first = acme.buyer(ticket)
    stopped.forward(minutes=5)
    second = acme.buyer(ticket)
    assert listed() == [("held", end(first))]
    assert first.purchase().status_code == 200
    stopped.forward(seconds=59)
    assert listed() == [("held", end(first))]
    stopped.forward(seconds=1)
    assert listed() == [("held", end(second))]
    at = PaymentIntent.get_by_id(second.intent["id"]).expires_at
    stopped.now = at - timedelta(seconds=1)
    assert listed() == [("held", end(second))]
    stopped.now = at
    assert listed() == [("held", None)]


def test_only_what_is_held_costs_one_more_query(acme, event, listed):
    ticket, gone = acme.ticket(event, capacity=1), acme.ticket(event, capacity=0)
    assert gone["obstacles"] == ["sold_out"]

    def cost():
        acme.api().patch(f"{acme.path}/events/{event['id']}", {"title": "Again"})
        seen = []
        database.obj.query_hooks.append(lambda query: seen.append(query.sql))
        listed()
        database.obj.query_hooks.clear()
        return len(seen)

    listed()
    before = cost()
    acme.buyer(ticket)
    assert cost() == before + 1


@pytest.mark.parametrize(
    ("capacity", "event_capacity", "taken", "said"),
    [
        (50, None, 39, None),
        (50, None, 40, "10 left"),
        (49, None, 39, None),
        (12, None, 10, "2 left"),
        (12, None, 9, None),
        (500, 50, 47, "3 left"),
        (None, None, 9, None),
    ],
)
def test_few_are_at_most_ten_and_at_most_a_fifth(
    acme, page, event, admin, capacity, event_capacity, taken, said
):
    admin.patch(f"{acme.path}/events/{event['id']}", {"capacity": event_capacity})
    ticket = acme.ticket(event, capacity=capacity, max_per_order=100, **FREE)
    acme.buyer(ticket, quantity=taken)
    text, _ = page()
    assert said in text if said else " left<" not in text
    if said:  # The page that is kept counts down.
        acme.buyer(ticket)
        left = int(said.split()[0]) - 1
        assert f"{left} left" in page()[0]


def test_limits_are_said_before_they_are_broken(acme, page, event):
    acme.ticket(event, min_per_order=4, max_per_order=8)
    acme.ticket(event, min_per_order=2, max_per_order=2, requires_ticket=True)
    text, _ = page()
    for said in ("4 to 8 per order", "2 per order<", "with a ticket"):
        assert said in text


def test_a_heading_is_shown_once_above_those_that_follow_each_other(acme, page, event):
    for name, heading in (("A", None), ("B", "Passes"), ("C", "Passes"), ("D", None)):
        acme.ticket(event, name=name, group_heading=heading, description=f"About <{name}>")
    text, _ = page()
    assert text.count("<bdi>Passes</bdi>") == 1
    assert text.index("<bdi>A</bdi>") < text.index("<bdi>Passes</bdi>") < text.index("<bdi>B</bdi>")
    assert "About &lt;C&gt;" in text
