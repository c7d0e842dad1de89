"""Deliveries in order: what a receiver gets."""

import json

from tests.support.factories import written
from tests.support.webhook_receivers import publish
from ticketing.models.notifications import Notification, WebhookEndpoint
from ticketing.notification_types import NotificationType
from ticketing.services.notifications import feed, numbering


def test_a_receiver_gets_signed_notifications_in_order(hooks):
    made = hooks.endpoint()
    sequences = publish(hooks.tenant_id, 250)
    hooks.deliver()
    received = hooks.receiver.received()
    assert [each["sequence"] for each in received] == sequences
    assert all(each["verified"] for each in received)
    first, stored = received[0], Notification.get(Notification.sequence == 1)
    assert first["id"] == stored.id
    assert first["body"] == {
        "type": "event.changed",
        "timestamp": written(stored.created_at),
        "data": {"sequence": 1, "event_id": "evt_0"},
    }
    assert first["headers"]["Content-Type"] == "application/json"
    now = hooks.now(made)
    assert (now.sequence, now.delivered, now.attempts, now.failing_since) == (250, 250, 0, None)
    assert hooks.rows(made) == [] and hooks.passed(made) == list(range(151, 251))
    hooks.deliver()
    assert len(hooks.receiver.received()) == 250
    # One connection carries many.
    assert len({each["from"] for each in received}) < 50


def test_only_the_types_of_an_endpoint_are_sent_and_a_test_never_by_the_feed(hooks):
    some = hooks.endpoint("/some", types=json.dumps(["intent.created", "intent.expired"]))
    all_types = hooks.endpoint("/all")
    for type in ("intent.created", "event.changed", "webhook.test", "intent.expired"):
        publish(hooks.tenant_id, 60, type)
    hooks.deliver()
    assert hooks.receiver.sequences("/some") == [*range(1, 61), *range(181, 241)]
    assert hooks.receiver.sequences("/all") == [*range(1, 121), *range(181, 241)]
    for made in (some, all_types):
        assert hooks.now(made).sequence == 240
    assert hooks.now(some).delivered == 120


def test_a_notification_without_a_number_is_not_sent(hooks):
    hooks.endpoint()
    feed.record(hooks.tenant_id, NotificationType.EVENT_CHANGED, {})
    hooks.deliver()
    assert hooks.receiver.received() == []
    numbering.numbered_feed(hooks.tenant_id)
    hooks.deliver()
    assert len(hooks.receiver.received()) == 1


def test_endpoints_of_other_tenants_get_nothing_of_it(hooks, neighbour):
    hooks.endpoint("/mine")
    hooks.tenant_id, mine = neighbour.id, hooks.tenant_id
    hooks.endpoint("/theirs")
    publish(neighbour.id, 2)
    publish(mine, 3)
    hooks.deliver()
    assert len(hooks.receiver.received("/theirs")) == 2
    assert len(hooks.receiver.received("/mine")) == 3


def test_a_cursor_that_is_moved_back_sends_everything_again_in_order(hooks):
    made = hooks.endpoint()
    publish(hooks.tenant_id, 5)
    hooks.deliver()
    WebhookEndpoint.update(sequence=2).execute()
    hooks.deliver()
    assert hooks.receiver.sequences("/hook") == [1, 2, 3, 4, 5, 3, 4, 5]
    assert hooks.now(made).delivered == 8


def test_an_endpoint_that_was_away_longer_than_the_feed_goes_on_with_what_is_kept(hooks):
    made = hooks.endpoint()
    publish(hooks.tenant_id, 5)
    Notification.delete().where(Notification.sequence <= 3).execute()
    hooks.deliver()
    assert hooks.receiver.sequences("/hook") == [4, 5]
    assert hooks.now(made).sequence == 5


def test_the_log_names_the_endpoint_and_not_its_url(hooks, caplog):
    caplog.set_level("INFO")
    made = hooks.endpoint("/a-secret-path")
    hooks.receiver.answer("/a-secret-path", status=410)
    publish(hooks.tenant_id)
    hooks.deliver()
    assert f"webhook endpoint {made.id}: status 410" in caplog.text
    assert "a-secret-path" not in caplog.text and "whsec_" not in caplog.text
