"""Notifications that an endpoint gets again, and an endpoint that is enabled again."""

import json
from datetime import timedelta

import pytest

from tests.support.factories import written
from tests.support.webhook_endpoints import NOT_FAILING, record
from ticketing import clock
from ticketing.models.notifications import Notification, NotificationFeed, WebhookDelivery

NEVER = f"ntf_{'0' * 26}"


def test_notifications_are_queued_again_by_their_ids_once_each(acme, webhook):
    first, second, third = record(acme, 3)
    wanted = [third.id, first.id, third.id]
    answer = webhook.done("resend", ids=wanted)
    assert answer["id"] == webhook.id
    queued = webhook.deliveries()[::-1]
    assert [each["notification_id"] for each in queued] == [third.id, first.id]
    assert {each["status"] for each in queued} == {"waiting"}
    assert [each.sequence for each in WebhookDelivery.select().order_by(WebhookDelivery.id)] == [
        third.sequence,
        first.sequence,
    ]
    assert second.id not in json.dumps(queued)


def test_ids_that_are_unknown_or_of_a_neighbour_are_named_and_nothing_is_queued(
    acme, neighbour, webhook
):
    (ours,), (theirs,) = record(acme), record(neighbour)
    for unknown in (NEVER, theirs.id, "x", "\u202e"):
        answer = webhook.post("resend", ids=[ours.id, unknown])
        assert answer.status_code == 404
        assert answer.json["detail"] == "These places in ids have no notification: 1."
    assert webhook.deliveries() == []


@pytest.mark.parametrize("fields", [{}, {"since": "2026-01-01T00:00:00Z", "ids": [NEVER]}])
def test_a_resend_has_either_a_time_or_ids(webhook, fields):
    answer = webhook.post("resend", **fields)
    assert answer.status_code == 422
    assert answer.json["errors"].keys() == {"since"}


@pytest.fixture
def days(acme, webhook):
    """One notification on each of four days. All are delivered. Return the days."""
    now = clock.now()
    found = [now - timedelta(days=4 - n) for n in range(4)]
    for day in found:
        record(acme, 1, at=day)
    webhook.set(sequence=4, delivered=4)
    return found


@pytest.mark.parametrize("day", range(4))
def test_a_resend_since_a_time_goes_back_to_what_came_before(webhook, days, day):
    webhook.set(refusals=2)
    assert webhook.done("resend", since=written(days[day]))["position"] == day
    assert (webhook.row.refusals, webhook.deliveries()) == (0, [])


def test_a_resend_is_a_minute_early_because_clocks_differ(webhook, days):
    soon, later = timedelta(seconds=50), timedelta(seconds=70)
    assert webhook.done("resend", since=written(days[2] + later))["position"] == 3
    assert webhook.done("resend", since=written(days[2] + soon))["position"] == 2


def test_a_resend_never_skips_what_waits(webhook, days):
    webhook.set(sequence=1)
    assert webhook.done("resend", since=written(days[3]))["position"] == 1
    assert webhook.done("resend", since="9999-12-31T23:59:59Z")["position"] == 1
    assert webhook.done("resend", since="1970-01-01T00:00:00Z")["position"] == 0


def test_a_resend_finds_its_place_though_the_feed_has_gaps(acme, webhook, days):
    """The oldest are forgotten, and a restored backup leaves a gap at the end."""
    (end,) = record(acme)
    Notification.delete().where(Notification.sequence <= 1).execute()
    Notification.update(sequence=900_000).where(Notification.id == end.id).execute()
    columns = {"forgotten_sequence": 1, "last_sequence": 1_000_000}
    NotificationFeed.update(columns).where(NotificationFeed.tenant == acme.id).execute()
    webhook.set(sequence=1_000_000)
    since = clock.now() + timedelta(hours=1)
    assert webhook.done("enable", **{"from": written(since)})["position"] == 900_000
    assert webhook.done("enable", **{"from": written(end.created_at)})["position"] == 4
    assert webhook.done("resend", since=written(days[2]))["position"] == 2
    assert webhook.done("resend", since=written(days[0]))["position"] == 1


def test_enabled_again_it_goes_on_where_it_stopped(acme, webhook):
    record(acme, 3)
    webhook.fail(disabled_at=clock.now(), disabled_reason="gone", sequence=1)
    assert webhook.now()["status"] == "disabled"
    enabled = webhook.done("enable")
    assert (enabled["status"], enabled["disabled_reason"]) == ("enabled", None)
    assert (enabled["position"], enabled["next_attempt_at"]) == (1, None)
    assert webhook.failing == NOT_FAILING


def test_enabled_from_a_time_it_goes_on_there_forwards_and_backwards(webhook, days):
    webhook.fail(disabled_at=clock.now(), sequence=1)
    assert webhook.done("enable", **{"from": written(days[3])})["position"] == 3
    assert webhook.done("enable", **{"from": written(days[0])})["position"] == 0
    tomorrow = clock.now() + timedelta(days=1)
    assert webhook.done("enable", **{"from": written(tomorrow)})["position"] == 4
