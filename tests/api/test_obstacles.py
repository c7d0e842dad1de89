"""Obstacles: why nobody can buy right now, as organizer, public and buyer see it."""

import pytest

from tests.support.admissions import FREE
from tests.support.factories import CHAIN, PRICE, in_days, new_organizer


def seen(organizer, ticket):
    """Return what the event's and the ticket type's organizer, the public and a buyer get."""
    admin = organizer.with_headers({"X-API-Key": organizer.admin_key})
    event = f"{organizer.path}/events/{ticket['event_id']}"
    public = admin.get(f"{organizer.public}/events/{ticket['event_id']}/tickets").json
    shown = {each["id"]: each["availability"] for each in public.get("data", ())}
    return (
        admin.get(event).json["obstacles"],
        admin.get(f"{event}/tickets/{ticket['id']}").json["obstacles"],
        shown.get(ticket["id"]),
        organizer.preflight(ticket).json.get("code"),
    )


def test_nothing_stands_in_the_way_of_a_free_ticket(acme):
    ticket = acme.ticket(**FREE)
    assert seen(acme, ticket) == ([], [], "on_sale", None)
    assert acme.buyer(ticket).purchase().status_code == 200


def test_nothing_stands_in_the_way_of_a_paid_ticket_with_wallet_and_chain(acme):
    assert seen(acme, acme.ticket()) == ([], [], "on_sale", None)


@pytest.mark.parametrize(
    ("fields", "obstacle", "availability", "code"),
    [
        ({"chain_id": 1}, "chain_not_enabled", "unavailable", "not_payable"),
        ({"sales_start_at": in_days(1)}, "sales_not_started", "not_started", "sales_not_started"),
        ({"sales_end_at": in_days(-1)}, "sales_ended", "ended", "sales_ended"),
        ({"capacity": 0}, "sold_out", "sold_out", "sold_out"),
    ],
)
def test_one_obstacle_alone_is_told_to_everybody(acme, fields, obstacle, availability, code):
    ticket = acme.ticket(**fields)
    assert seen(acme, ticket) == ([obstacle], [obstacle], availability, code)


def test_a_paid_ticket_needs_a_wallet_and_a_free_one_does_not(app):
    poor = new_organizer(app, "poor", address=None)
    event = poor.event()
    paid = poor.ticket(event)
    missing = ["wallet_missing"]
    assert seen(poor, paid) == (missing, missing, "unavailable", "not_payable")

    free = poor.ticket(event, **FREE)
    assert seen(poor, free) == ([], [], "on_sale", None)
    assert seen(poor, paid)[:2] == ([], missing)


def test_a_draft_ticket_type_is_not_published(acme):
    ticket = acme.ticket(status="draft")
    assert seen(acme, ticket) == (
        ["no_published_ticket_type"],
        ["not_published"],
        None,
        "not_found",
    )


def test_a_draft_event_is_told_of_on_its_ticket_types_too(acme):
    ticket = acme.ticket(acme.event(status="draft"))
    assert seen(acme, ticket) == (["not_published"], ["event_not_published"], None, "not_found")


def test_an_event_without_ticket_types_has_nothing_to_sell(acme):
    assert acme.event()["obstacles"] == ["no_published_ticket_type"]
    draft = acme.event(status="draft")
    assert draft["obstacles"] == ["not_published", "no_published_ticket_type"]


def test_a_canceled_ticket_type_or_event_is_not_published(acme):
    admin = acme.api()
    ticket = acme.ticket()
    event = f"{acme.path}/events/{ticket['event_id']}"
    admin.post(f"{event}/tickets/{ticket['id']}/status", {"status": "canceled"})
    assert seen(acme, ticket) == (
        ["no_published_ticket_type"],
        ["not_published"],
        None,
        "not_found",
    )
    admin.post(f"{event}/status", {"status": "canceled"})
    assert seen(acme, ticket)[1] == ["not_published", "event_not_published"]


@pytest.mark.parametrize(
    ("times", "is_over"),
    [
        # Functions: these tests may begin long after they were collected.
        (lambda: {"start_at": in_days(-2), "end_at": in_days(-1)}, True),
        (lambda: {"start_at": in_days(-2), "end_at": in_days(1)}, False),
        (lambda: {"start_at": in_days(-6.1 / 24)}, True),
        (lambda: {"start_at": in_days(-5.9 / 24)}, False),
        (lambda: {"start_at": "9999-12-31T23:59:59Z"}, False),
    ],
    ids=["ended", "not ended", "began 6.1 h ago", "began 5.9 h ago", "latest date"],
)
def test_an_event_that_is_over_is_not_sold(acme, times, is_over):
    ticket = acme.ticket(acme.event(**times()))
    expected = (["event_over"], ["event_over"], "ended", "event_over")
    assert seen(acme, ticket) == (expected if is_over else ([], [], "on_sale", None))


def test_an_event_that_is_over_says_so_without_ticket_types_too(acme):
    assert acme.event(start_at=in_days(-2))["obstacles"] == [
        "no_published_ticket_type",
        "event_over",
    ]


def test_the_sales_window_opens_at_its_start_and_closes_at_its_end(acme):
    window = {"sales_start_at": in_days(-1), "sales_end_at": in_days(1)}
    assert seen(acme, acme.ticket(**window)) == ([], [], "on_sale", None)


def test_sold_out_counts_what_is_held_and_what_is_sold(acme):
    ticket = acme.ticket(**FREE, capacity=2)
    acme.buyer(ticket).purchase()
    last = acme.buyer(ticket)
    assert seen(acme, ticket) == (["sold_out"], ["sold_out"], "held", "sold_out")

    last.cancel()

    assert seen(acme, ticket) == ([], [], "on_sale", None)


def test_fewer_left_than_an_order_must_have_is_sold_out(acme):
    ticket = acme.ticket(**FREE, capacity=2, min_per_order=3)
    assert ticket["obstacles"] == ["sold_out"]
    assert acme.preflight(ticket, quantity=3).json["code"] == "sold_out"


@pytest.mark.parametrize("kind", ["online", "hybrid"])
def test_a_missing_join_url_is_a_warning_on_the_event_alone(acme, kind):
    ticket = acme.ticket(acme.event(type=kind))
    assert seen(acme, ticket) == (["join_url_missing"], [], "on_sale", None)

    here = f"{acme.path}/events/{ticket['event_id']}"
    changed = acme.api().patch(here, {"online_join_url": "https://meet.example.org/x"})

    assert changed.json["obstacles"] == []


def test_an_event_in_person_needs_no_join_url(acme):
    assert seen(acme, acme.ticket(acme.event(type="in_person")))[0] == []


def test_one_ticket_type_on_sale_is_enough_for_its_event(acme):
    event = acme.event()
    late = acme.ticket(event, sales_end_at=in_days(-1))
    full = acme.ticket(event, capacity=0)
    assert seen(acme, full)[0] == ["sales_ended", "sold_out"]

    acme.ticket(event)

    assert seen(acme, late)[:2] == ([], ["sales_ended"])


def test_every_obstacle_is_told_at_once(app):
    poor = new_organizer(app, "poor", address=None)
    event = poor.event(status="draft", type="online")
    ticket = poor.ticket(
        event,
        status="draft",
        price_amount=PRICE,
        chain_id=1,
        capacity=0,
        sales_start_at=in_days(1),
        sales_end_at=in_days(2),
    )
    of_event, of_ticket, *_ = seen(poor, ticket)
    assert of_event == ["not_published", "no_published_ticket_type", "join_url_missing"]
    assert of_ticket == [
        "not_published",
        "event_not_published",
        "wallet_missing",
        "chain_not_enabled",
        "sales_not_started",
        "sold_out",
    ]


def test_obstacles_are_worked_out_in_lists_too(acme):
    ticket = acme.ticket(chain_id=CHAIN, sales_start_at=in_days(1))
    admin = acme.api()
    events = admin.get(f"{acme.path}/events").json["data"]
    tickets = admin.get(f"{acme.path}/events/{ticket['event_id']}/tickets").json["data"]
    assert [each["obstacles"] for each in (*events, *tickets)] == [["sales_not_started"]] * 2
