"""The feed: in order, page by page, with positions that stay, and what is deleted."""

from datetime import timedelta

import pytest

from tests.support.admissions import FREE, given
from tests.support.counted_work import watched
from tests.support.factories import cli, worker_once
from tests.support.feed import feed, feed_page
from ticketing import clock
from ticketing.models.notifications import Notification, NotificationFeed
from ticketing.services import sequencing
from ticketing.services.notifications import numbering, reading

pytestmark = pytest.mark.sql


def position_gone(organizer, after):
    api = organizer.api()
    answer = api.get(f"{organizer.path}/notifications?after={after}")
    if answer.status_code == 410:
        assert answer.json["code"] == "feed_position_gone"
    return answer.status_code == 410


def age(days, up_to=2**53):
    """Make notifications older than they are: those that have no number, or a small one."""
    old = Notification.sequence.is_null() | (Notification.sequence <= up_to)
    created_at = clock.now() - timedelta(days=days)
    Notification.update(created_at=created_at).where(old).execute()


def sequences(organizer, **query):
    return [each["sequence"] for each in feed(organizer, **query)]


@pytest.fixture
def orders(acme):
    """Five orders: 1 published event, then 5 times created, confirmed, issued."""
    ticket = acme.ticket(capacity=None, **FREE)
    for _ in range(5):
        given(acme, ticket)
    return ticket


def test_an_empty_feed_has_a_position_to_go_on_from(acme):
    assert feed_page(acme) == {"data": [], "next_after": 0}
    assert feed_page(acme, after=0) == {"data": [], "next_after": 0}
    acme.event()
    (only,) = feed_page(acme, after=0)["data"]
    assert (only["sequence"], only["type"]) == (1, "event.published")


def test_it_is_read_in_order_page_by_page(acme, orders):
    found = feed(acme, limit=4)
    assert [each["sequence"] for each in found] == list(range(1, 17))
    assert [each["type"] for each in found[:4]] == [
        "event.published",
        "intent.created",
        "intent.confirmed",
        "admission.issued",
    ]
    assert len({each["id"] for each in found}) == 16
    assert feed(acme, after=14) == found[14:]
    assert feed_page(acme, after=16) == {"data": [], "next_after": 16}
    assert feed_page(acme, limit=16)["next_after"] == 16


def test_a_type_that_is_rare_is_paged_too(acme, orders):
    assert len(feed(acme, type="intent.created", limit=2)) == 5
    page = feed_page(acme, type="event.published", limit=1)
    assert (len(page["data"]), page["next_after"]) == (1, 1)
    page = feed_page(acme, type="event.published", limit=1, after=1)
    assert page == {"data": [], "next_after": 16}
    given(acme, orders)
    assert feed_page(acme, type="event.published", after=16) == {"data": [], "next_after": 19}


def test_a_tenant_sees_its_own_feed_only(acme, neighbour, orders):
    assert feed(neighbour) == []
    neighbour.event()
    assert sequences(neighbour) == [1]
    other = neighbour.api("read").get(f"{acme.path}/notifications")
    assert (other.status_code, other.json["code"]) == (403, "wrong_tenant")


def test_the_worker_numbers_without_a_reader_and_only_once(app, acme, node, orders):
    worker_once(app)
    assert NotificationFeed.get().last_sequence == 16
    before = {row.id: row.sequence for row in Notification.select()}
    assert numbering.number_all() == 0
    assert before == {row.id: row.sequence for row in Notification.select()}
    with watched() as work:
        feed_page(acme)
    assert not [each for each in work.statements if each.lstrip().startswith("UPDATE")]


def test_many_are_numbered_in_several_transactions(acme, orders, monkeypatch):
    monkeypatch.setattr(sequencing, "AT_ONCE", 7)
    assert numbering.number_all() == 16
    assert sequences(acme) == list(range(1, 17))


def test_a_position_that_was_never_given_is_gone(acme, orders):
    assert not position_gone(acme, 16)
    assert position_gone(acme, 17)
    assert position_gone(acme, 2**53 - 1)
    given(acme, orders)
    assert not position_gone(acme, 17)


def test_what_is_old_is_deleted_and_its_positions_are_gone(app, acme, node, orders):
    worker_once(app)
    age(29, up_to=7)
    worker_once(app)
    assert sequences(acme) == list(range(1, 17))
    age(31, up_to=7)
    worker_once(app)
    assert sequences(acme) == sequences(acme, after=7) == list(range(8, 17))
    assert position_gone(acme, 0)
    assert position_gone(acme, 6)
    age(31)
    worker_once(app)
    assert feed_page(acme) == {"data": [], "next_after": 16}
    assert feed_page(acme, after=16) == {"data": [], "next_after": 16}
    given(acme, orders)
    assert sequences(acme, after=16) == [17, 18, 19]


def test_it_is_deleted_in_small_batches_and_never_before_it_has_a_number(
    app, acme, orders, monkeypatch
):
    monkeypatch.setattr(reading, "_FORGOTTEN_AT_ONCE", 5)
    numbering.number_all()
    given(acme, orders)
    age(31)
    reading.forget_old(30)
    assert [row.sequence for row in Notification.select()] == [None, None, None]
    assert sequences(acme) == [17, 18, 19]


def test_each_deployment_decides_how_long_notifications_are_kept(environ, app, acme, orders):
    numbering.number_all()
    age(8)
    reading.forget_old(9)
    assert len(feed(acme)) == 16
    reading.forget_old(7)
    assert feed(acme) == []


def test_after_a_restore_new_ones_come_after_every_position_that_a_reader_may_know(
    app, acme, neighbour, orders
):
    assert len(feed(acme)) == 16
    cli(app, "db", "restored")
    known_from_the_lost_world = 20
    assert position_gone(acme, known_from_the_lost_world)
    assert len(feed(acme, after=10)) == 6
    given(acme, orders)
    assert sequences(acme, after=16) == [reading.JUMP + 17 + each for each in range(3)]
    assert position_gone(acme, known_from_the_lost_world)
    # A tenant whose feed was empty in the backup.
    neighbour.event()
    assert sequences(neighbour) == [reading.JUMP + 1]
    assert position_gone(neighbour, 3)


@pytest.mark.parametrize(
    "query",
    [
        "after=-1",
        "after=x",
        "after=",
        "after=9007199254740992",
        "after=1.0",
        "after=1e3",
        "limit=0",
        "limit=101",
        "type=nothing",
        "type=",
        "cursor=x",
        "since=1",
        "after=1&after=2",
    ],
)
def test_odd_queries_are_refused(acme, query):
    answer = acme.api("read").get(f"{acme.path}/notifications?{query}")
    assert (answer.status_code, answer.json["code"]) == (422, "invalid_request")
    assert list(answer.json["errors"]) == [query.partition("=")[0]]
