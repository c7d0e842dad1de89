"""Ticket types: create, read, change, publish, cancel and list them."""

import json
import re

import pytest

from tests.support.admissions import FREE
from tests.support.factories import CHAIN, PRICE, ticket_body
from tests.support.field_changes import change_each_alone
from tests.support.field_values import SCHEMAS
from tests.support.mcp import call
from ticketing.models.items import IntentItem
from ticketing.models.ticket_types import TicketType

CONTRACT_FIELDS = {
    *SCHEMAS["TicketTypeCreate"]["properties"],
    *("id", "event_id", "held", "sold", "waiting", "available", "obstacles", "warnings"),
    *("created_at", "updated_at"),
}
"""What is sent is shown, and more."""

STATUSES = ("draft", "published", "canceled")


@pytest.fixture
def event(acme):
    return acme.event()


@pytest.fixture
def path(acme, event):
    return f"{acme.path}/events/{event['id']}/tickets"


def errors_of(answer):
    assert answer.status_code == 422, answer.json
    return answer.json["errors"].keys()


def test_it_creates_a_ticket_type_from_exactly_the_seeds_fields(admin, event, path):
    body = {
        "name": "Front row",
        "price_amount": 25_000_001,
        "status": "draft",
        "transferable": False,
        "chain_id": 8453,
    }

    made = admin.post(path, body)

    assert made.status_code == 201
    assert made.json.keys() == CONTRACT_FIELDS
    assert {name: made.json[name] for name in body} == body
    assert made.json["event_id"] == event["id"]
    assert made.json["created_at"] == made.json["updated_at"]
    assert admin.get(f"{path}/{made.json['id']}").json == made.json


def test_what_is_left_out_gets_its_default(admin, path):
    made = admin.post(path, {"name": "Free seat", "price_amount": 0}).json
    expected = {
        "status": "draft",
        "transferable": True,
        "requires_key": False,
        "chain_id": None,
        "description": None,
        "group_heading": None,
        "position": 0,
        "admission": True,
        "requires_ticket": False,
        "free_price": False,
        "max_price_amount": None,
        "capacity": None,
        "held": 0,
        "sold": 0,
        "available": None,
        "min_per_order": 1,
        "max_per_order": 10,
        "sales_start_at": None,
        "sales_end_at": None,
    }
    assert {name: made[name] for name in expected} == expected


def test_it_names_every_required_field_that_is_missing(admin, path):
    assert errors_of(admin.post(path, {})) == {"name", "price_amount"}


def test_it_is_created_published_but_not_canceled(admin, path):
    assert admin.post(path, ticket_body() | {"status": "published"}).json["status"] == "published"
    assert errors_of(admin.post(path, ticket_body() | {"status": "canceled"})) == {"status"}


def test_a_price_needs_a_chain(acme, admin, path, event):
    for chain in ({}, {"chain_id": None}):
        body = {"name": "Seat", "price_amount": 1, **chain}
        assert errors_of(admin.post(path, body)) == {"chain_id"}

    free = f"{path}/{acme.ticket(event, **FREE)['id']}"
    assert errors_of(admin.patch(free, {"price_amount": 1})) == {"chain_id"}
    assert admin.patch(free, {"price_amount": 1, "chain_id": 10**15}).status_code == 200
    assert errors_of(admin.patch(free, {"chain_id": None})) == {"chain_id"}
    assert admin.patch(free, FREE).json["chain_id"] is None


def test_a_free_ticket_type_may_name_a_chain(admin, path):
    made = admin.post(path, {"name": "Free", "price_amount": 0, "chain_id": 1})
    assert made.status_code == 201 and made.json["chain_id"] == 1


def test_each_field_can_be_changed_alone(acme, admin, path, event):
    here = f"{path}/{acme.ticket(event)['id']}"
    changes = {
        "name": "Balcony",
        "description": "With a view.\nAnd a drink.",
        "group_heading": "Upstairs",
        "position": 10**6,
        "admission": False,
        "requires_ticket": True,
        "price_amount": 10**15,
        "free_price": True,
        "max_price_amount": 10**15,
        "transferable": False,
        "requires_key": True,
        "capacity": 2**53 - 1,
        "min_per_order": 10,
        "max_per_order": 100,
        "sales_start_at": "2031-01-01T00:00:00Z",
        "sales_end_at": "2031-02-01T00:00:00Z",
    }
    change_each_alone(admin, here, changes, also={"available", "obstacles"})
    change_each_alone(admin, here, {"chain_id": 2**53 - 1}, also={"chain_ids", "obstacles"})
    change_each_alone(
        admin, here, {"chain_ids": [8453, 137]}, also={"chain_id", "obstacles", "warnings"}
    )


def test_null_empties_what_may_be_empty_and_nothing_else(acme, admin, path, event):
    window = {"sales_start_at": "2031-01-01T00:00:00Z", "sales_end_at": "2031-02-01T00:00:00Z"}
    here = f"{path}/{acme.ticket(event, price_amount=0, **window)['id']}"

    for name in ("chain_id", "capacity", "description", "group_heading", *window):
        assert admin.patch(here, {name: None}).json[name] is None
    never = ("name", "price_amount", "transferable", "requires_key", "min_per_order", "position")
    never += ("admission", "requires_ticket", "free_price")
    assert errors_of(admin.patch(here, dict.fromkeys(never))) == set(never)


def test_what_the_service_sets_cannot_be_sent(acme, admin, path, event):
    given = (
        "id",
        "event_id",
        "status",
        "held",
        "sold",
        "available",
        "created_at",
        "obstacles",
        "warnings",
    )
    here = f"{path}/{acme.ticket(event)['id']}"
    assert errors_of(admin.patch(here, dict.fromkeys(given, 1))) == set(given)
    assert acme.stock(admin.get(here).json) == (0, 0)


def test_available_is_what_is_neither_held_nor_sold(acme, admin, path, event):
    ticket = acme.ticket(event, **FREE, capacity=5)
    acme.buyer(ticket, quantity=2)
    acme.buyer(ticket, quantity=1).purchase()
    acme.buyer(ticket, quantity=1).cancel()

    now = admin.get(f"{path}/{ticket['id']}").json

    assert (now["held"], now["sold"], now["available"]) == (2, 1, 2)


def test_capacity_never_falls_below_what_is_held_and_sold(acme, admin, path, event):
    ticket = acme.ticket(event, **FREE, capacity=5)
    here = f"{path}/{ticket['id']}"
    acme.buyer(ticket, quantity=2).purchase()
    acme.buyer(ticket, quantity=2)

    for capacity in (0, 3):
        refused = admin.patch(here, {"capacity": capacity, "name": "Not this either"})
        assert refused.status_code == 409 and refused.json["code"] == "capacity_too_low"
    assert admin.get(here).json["name"] == ticket["name"]
    assert admin.patch(here, {"capacity": 4}).json["available"] == 0


def test_without_a_capacity_there_is_no_end(acme, admin, path, event):
    ticket = acme.ticket(event, **FREE, capacity=None, max_per_order=100)
    for _ in range(3):
        acme.buyer(ticket, quantity=100)
    assert acme.stock(ticket) == (300, 0)
    assert admin.get(f"{path}/{ticket['id']}").json["available"] is None
    refused = admin.patch(f"{path}/{ticket['id']}", {"capacity": 299})
    assert refused.json["code"] == "capacity_too_low"


def test_an_orders_minimum_is_not_above_its_maximum(acme, admin, path, event):
    bad = ({"min_per_order": 11}, {"max_per_order": 4, "min_per_order": 5})
    for fields in bad:
        assert errors_of(admin.post(path, ticket_body() | fields)) == {"min_per_order"}

    here = f"{path}/{acme.ticket(event, min_per_order=3, max_per_order=6)['id']}"
    for change in ({"min_per_order": 7}, {"max_per_order": 2}):
        assert errors_of(admin.patch(here, change)) == {"min_per_order"}
    assert admin.patch(here, {"min_per_order": 6}).status_code == 200
    assert admin.patch(here, {"min_per_order": 7, "max_per_order": 7}).status_code == 200


def test_sales_end_after_they_start(acme, admin, path, event):
    noon = "2031-01-01T12:00:00Z"
    for end in (noon, "2031-01-01T11:59:59Z"):
        body = ticket_body() | {"sales_start_at": noon, "sales_end_at": end}
        assert errors_of(admin.post(path, body)) == {"sales_end_at"}

    here = f"{path}/{acme.ticket(event, sales_end_at=noon)['id']}"
    assert errors_of(admin.patch(here, {"sales_start_at": noon})) == {"sales_end_at"}
    assert admin.patch(here, {"sales_start_at": "2031-01-01T11:00:00Z"}).status_code == 200
    assert errors_of(admin.patch(here, {"sales_end_at": "2031-01-01T10:00:00Z"}))
    assert admin.patch(here, {"sales_start_at": noon, "sales_end_at": None}).status_code == 200


def test_everything_wrong_in_combination_is_named_at_once(admin, path):
    body = {
        "name": "Seat",
        "price_amount": 1,
        "min_per_order": 9,
        "max_per_order": 8,
        "sales_start_at": "2031-01-01T12:00:00Z",
        "sales_end_at": "2030-01-01T12:00:00Z",
    }
    assert errors_of(admin.post(path, body)) == {"chain_id", "min_per_order", "sales_end_at"}


def test_an_open_intent_keeps_the_price_and_chain_it_was_shown(acme, admin, path, event):
    ticket = acme.ticket(event)
    buyer = acme.buyer(ticket, quantity=2)
    shown = buyer.now()
    assert (shown["unit_amount"], shown["amount"]) == (PRICE, 2 * PRICE)

    changed = admin.patch(f"{path}/{ticket['id']}", {"price_amount": 1, "chain_id": 1})

    assert changed.status_code == 200
    assert buyer.now() == shown
    assert shown["chain_id"] == CHAIN


def test_the_list_holds_the_events_own_in_the_order_they_were_made(acme, admin, path, event):
    acme.ticket()
    made = [acme.ticket(event, name=name, status="draft") for name in "abc"]
    listed = admin.get(path).json
    assert listed == {"data": made, "next_cursor": None}
    assert errors_of(admin.get(f"{path}?status=draft")) == {"status"}


def test_what_is_not_this_events_or_tenants_is_not_there(acme, admin, path, event, neighbour):
    own, of_other_event, foreign = acme.ticket(event), acme.ticket(), neighbour.ticket()
    events = f"{acme.path}/events"
    for where in (
        f"{path}/{of_other_event['id']}",
        f"{path}/{foreign['id']}",
        f"{path}/{'tkt_' + '0' * 26}",
        f"{path}/%00",
        f"{path}/{event['id']}",
        f"{events}/{foreign['event_id']}/tickets/{foreign['id']}",
        f"{events}/{foreign['event_id']}/tickets/{own['id']}",
        f"{events}/%00/tickets/{own['id']}",
    ):
        for answer in (
            admin.get(where),
            admin.patch(where, {"name": "Mine"}),
            admin.post(f"{where}/status", {"status": "canceled"}),
        ):
            assert answer.status_code == 404, where
            assert answer.json["code"] == "not_found"
    for where in (f"{events}/{foreign['event_id']}/tickets", f"{events}/%00/tickets"):
        assert admin.get(where).status_code == 404
        assert admin.post(where, ticket_body()).status_code == 404
    assert admin.get(path).json["data"] == [own]


def ids_of(listed):
    return [each["id"] for each in listed.json["data"]]


def test_each_list_is_by_position_then_in_the_order_of_creation(acme, admin, path, event, api):
    last, first, second, third = (
        acme.ticket(event, name=name, position=position)["id"]
        for name, position in (("Last", 7), ("First", 1), ("Second", 3), ("Third", 3))
    )
    wanted = [first, second, third, last]
    public = f"{acme.public}/events/{event['id']}/tickets"
    assert ids_of(admin.get(path)) == ids_of(api.get(public)) == wanted
    found = call(acme.with_headers({}), "list_tickets", tenant="acme", event_id=event["id"])
    assert [each["id"] for each in found["data"]] == wanted
    page = api.get(f"/acme/{event['slug']}").text
    assert sorted(wanted, key=page.index) == wanted
    data = json.loads(re.search(r'ld\+json">(.*?)</script>', page)[1])
    assert [each["name"] for each in data["offers"]] == ["First", "Second", "Third", "Last"]

    listed, cursor = [], ""
    while cursor is not None:
        answer = api.get(f"{public}?limit=1{cursor and '&cursor='}{cursor}")
        listed, cursor = listed + ids_of(answer), answer.json["next_cursor"]
    assert listed == wanted


def test_a_new_one_is_the_last_one(acme, admin, path, event):
    first = acme.ticket(event, position=5)
    assert admin.post(path, ticket_body()).json["position"] == 5
    assert ids_of(admin.get(path))[0] == first["id"]


@pytest.mark.parametrize("used_by", ["an order", "a guest", "an item of an order"])
def test_admission_is_fixed_once_somebody_has_it(acme, admin, path, event, used_by):
    ticket = acme.ticket(event, **FREE)
    here = f"{path}/{ticket['id']}"
    assert admin.patch(here, {"admission": False}).json["admission"] is False
    if used_by == "an order":
        acme.buyer(ticket).cancel()
    elif used_by == "a guest":
        invited = admin.post(f"{here}/admissions", {"holders": [{"name": "Ada"}]})
        assert invited.status_code == 201
    else:
        with_item(acme.buyer(acme.ticket(event)), ticket)
    refused = admin.patch(here, {"admission": True, "name": "Not this either"})
    assert (refused.status_code, refused.json["code"]) == (409, "has_intents")
    assert admin.get(here).json["name"] == ticket["name"]
    assert admin.patch(here, {"admission": False}).status_code == 200


def test_a_ticket_type_in_an_order_of_several_cannot_become_a_draft(acme, admin, path, event):
    ticket = acme.ticket(event, **FREE)
    with_item(acme.buyer(acme.ticket(event)), ticket)
    refused = admin.post(f"{path}/{ticket['id']}/status", {"status": "draft"})
    assert (refused.status_code, refused.json["code"]) == (409, "has_intents")


def with_item(buyer, ticket):
    """Add a second item to an order, in the database."""
    IntentItem.create(
        intent=buyer.intent["id"],
        position=1,
        ticket_type=ticket["id"],
        quantity=1,
        list_amount=0,
        unit_amount=0,
        admission=True,
        vouchered=False,
    )


def test_a_price_that_buyers_choose_has_bounds(acme, admin, path, event):
    own = {**ticket_body(), "free_price": True}
    for wrong, field in (
        ({"price_amount": 1}, "price_amount"),
        ({"price_amount": 9_999}, "price_amount"),
        ({"price_amount": 20_000, "max_price_amount": 19_999}, "max_price_amount"),
        ({"free_price": False, "max_price_amount": 20_000}, "max_price_amount"),
        ({"price_amount": 0, "chain_id": None}, "chain_id"),
    ):
        assert errors_of(admin.post(path, {**own, **wrong})) == {field}, wrong
    for fine in (
        {"price_amount": 0},
        {"price_amount": 10_000, "max_price_amount": 10_000},
        {"price_amount": 0, "max_price_amount": 10**15},
    ):
        made = admin.post(path, {**own, **fine})
        assert made.status_code == 201, made.json
    here = f"{path}/{made.json['id']}"
    assert errors_of(admin.patch(here, {"free_price": False})) == {"max_price_amount"}
    cleared = {"free_price": False, "max_price_amount": None}
    assert admin.patch(here, cleared).status_code == 200


def test_what_is_handed_out_does_not_count_in_the_capacity_of_the_event(acme, admin):
    event = acme.event(capacity=1)
    seat, shirt = acme.ticket(event, **FREE), acme.ticket(event, **FREE, admission=False)
    assert acme.buyer(seat).purchase().status_code == 200
    here = f"{acme.path}/events/{event['id']}"
    types = {each["id"]: each for each in admin.get(f"{here}/tickets").json["data"]}
    assert types[seat["id"]]["obstacles"] == ["sold_out"] and types[shirt["id"]]["obstacles"] == []
    TicketType.update(sold=5).where(TicketType.id == shirt["id"]).execute()
    now = admin.get(here).json
    assert (now["sold"], now["available"]) == (1, 0)
