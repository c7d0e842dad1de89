"""Events and the stock of ticket types: each fact has one notification."""

import pytest

from tests.support.admissions import FREE, admissions_of, given, invite, sold, void
from tests.support.factories import PRICE, event_body
from tests.support.feed import News, feed, recorded


@pytest.fixture
def news(acme):
    return News(acme)


def set_status(acme, event, status, **fields):
    path = f"{acme.path}/events/{event['id']}/status"
    return acme.api().post(path, {"status": status, **fields})


def change(acme, event, **fields):
    answer = acme.api().patch(f"{acme.path}/events/{event['id']}", fields)
    assert answer.status_code == 200, answer.json


def set_capacity(acme, ticket, capacity):
    path = f"{acme.path}/events/{ticket['event_id']}/tickets/{ticket['id']}"
    assert acme.api().patch(path, {"capacity": capacity}).status_code == 200


def test_an_event_is_published_taken_back_and_canceled(acme, news):
    event = acme.event(status="draft")
    assert news.all() == []
    for status in ("published", "published", "draft", "published", "canceled", "canceled"):
        assert set_status(acme, event, status).status_code == 200
    assert news.all() == [
        ("event.published", {"event_id": event["id"], "status": "published"}),
        (
            "event.changed",
            {
                "event_id": event["id"],
                "status": "draft",
                "changed": ["status"],
                "tell_people": True,
            },
        ),
        ("event.published", {"event_id": event["id"], "status": "published"}),
        (
            "event.canceled",
            {
                "event_id": event["id"],
                "status": "canceled",
                "refund": True,
                "admissions_voided": 0,
                "intents_canceled": 0,
            },
        ),
    ]


def test_an_event_may_be_created_published(acme, news):
    event = acme.event()
    assert news.all() == [("event.published", {"event_id": event["id"], "status": "published"})]


def test_a_refused_transition_records_nothing(acme, news):
    event = acme.event(status="draft")
    set_status(acme, event, "canceled")
    news.all()
    assert set_status(acme, event, "published").status_code == 409
    assert news.all() == []


def test_a_change_names_the_fields_that_differ_and_no_values(acme, news):
    event = acme.event(venue="Main Hall")
    news.all()
    change(acme, event, venue="Hidden Place", title=event["title"], capacity=10)
    change(acme, event, venue="Hidden Place", capacity=10, start_at=event["start_at"])
    ((type, data),) = news.all()
    assert type == "event.changed"
    assert data == {
        "event_id": event["id"],
        "status": "published",
        "changed": ["capacity", "venue"],
        "tell_people": True,
    }


def test_a_refused_change_records_nothing(acme, news):
    event = acme.event()
    news.all()
    path = f"{acme.path}/events/{event['id']}"
    for fields in ({"end_at": "2000-01-01T00:00:00Z"}, {"slug": "other", "venue": "Other"}):
        assert acme.api().patch(path, fields).status_code in (409, 422)
    assert acme.api().post(f"{acme.path}/events", {**event_body(), "slug": event["slug"]}).json
    assert news.all() == []


def test_a_canceled_event_is_one_fact_with_counts_and_one_for_each_order(acme, node, news):
    event = acme.event()
    paid, free = acme.ticket(event, capacity=3), acme.ticket(event, **FREE)
    buyers = [sold(acme, node, paid, quantity=2), sold(acme, node, paid)]
    given(acme, free)
    invite(acme, free, {"name": "Ada"})
    waiting = acme.buyer(free)
    news.all()
    assert set_status(acme, event, "canceled").status_code == 200
    happened = news.all()
    assert [type for type, _ in happened] == [
        "intent.canceled",
        "refund.due",
        "refund.due",
        "event.canceled",
    ]
    (_, canceled), *refunds, (_, counts) = happened
    assert canceled["intent_id"] == waiting.intent["id"]
    assert {data["intent_id"]: data["amount"] for _, data in refunds} == {
        buyer.intent["id"]: buyer.intent["amount"] for buyer in buyers
    }
    assert counts == {
        "event_id": event["id"],
        "status": "canceled",
        "refund": True,
        "admissions_voided": 5,
        "intents_canceled": 1,
    }


def test_refunds_that_are_made_up_for_later_are_recorded_then(acme, node, news):
    event = acme.event()
    sold(acme, node, acme.ticket(event), quantity=2)
    news.all()
    assert set_status(acme, event, "canceled", refund=False).status_code == 200
    ((type, data),) = news.all()
    assert (type, data["refund"], data["admissions_voided"]) == ("event.canceled", False, 2)
    for _ in range(2):
        assert set_status(acme, event, "canceled", refund=True).status_code == 200
    ((type, data),) = news.all()
    assert (type, data["amount"]) == ("refund.due", 2 * PRICE)


def test_who_is_owed_something_already_is_not_recorded_again(acme, node, news):
    event = acme.event()
    buyer = sold(acme, node, acme.ticket(event), quantity=2)
    assert void(acme, admissions_of(buyer)[0]).status_code == 200
    assert "refund.due" in news.types()
    assert set_status(acme, event, "canceled").status_code == 200
    assert news.types() == ["event.canceled"]


def test_a_ticket_type_is_sold_out_by_a_sale_and_available_again_by_a_void(acme, news):
    ticket = acme.ticket(capacity=2, **FREE)
    buyer = acme.buyer(ticket, quantity=2)
    assert "ticket_type.sold_out" not in news.types()
    buyer.purchase()
    data = {"event_id": ticket["event_id"], "ticket_id": ticket["id"], "capacity": 2}
    assert ("ticket_type.sold_out", data) in news.all()
    for admission in admissions_of(buyer):
        assert void(acme, admission).status_code == 200
    assert [each for each in news.all() if each[0].startswith("ticket")] == [
        ("ticket_type.available_again", data)
    ]


def test_guests_and_a_change_of_capacity_count_too(acme, news):
    ticket = acme.ticket(capacity=2, **FREE)
    news.all()
    assert invite(acme, ticket, {}, {}).status_code == 201
    assert news.types() == ["admission.issued", "admission.issued", "ticket_type.sold_out"]
    assert invite(acme, ticket, {}).status_code == 409
    for capacity in (2, 3, None, 2, 2):
        set_capacity(acme, ticket, capacity)
    again = {"event_id": ticket["event_id"], "ticket_id": ticket["id"]}
    assert news.all() == [
        ("ticket_type.available_again", {**again, "capacity": 3}),
        ("ticket_type.sold_out", {**again, "capacity": 2}),
    ]


def test_a_canceled_ticket_type_is_not_available_again(acme, news):
    ticket = acme.ticket(capacity=1, **FREE)
    buyer = given(acme, ticket)
    path = f"{acme.path}/events/{ticket['event_id']}/tickets/{ticket['id']}/status"
    assert acme.api().post(path, {"status": "canceled"}).status_code == 200
    news.all()
    assert void(acme, *admissions_of(buyer)).status_code == 200
    assert news.types() == ["admission.voided"]


@pytest.mark.exhaustive
def test_a_cancelation_has_one_notification_for_any_number_of_admissions(acme):
    event = acme.event()
    ticket = acme.ticket(event, capacity=None, max_per_order=100, **FREE)
    for _ in range(3):
        given(acme, ticket, quantity=100)
    before = recorded()
    assert set_status(acme, event, "canceled").status_code == 200
    assert recorded() == before + 1
    (canceled,) = feed(acme, type="event.canceled")
    assert canceled["data"]["admissions_voided"] == 300
