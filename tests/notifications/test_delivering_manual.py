"""Deliveries that somebody asked for: one try each, also to a disabled endpoint."""

from tests.support.webhook_receivers import publish
from ticketing import clock as clocks
from ticketing.models.notifications import Notification, WebhookDelivery
from ticketing.notification_types import NotificationType
from ticketing.services.notifications import feed, numbering


def test_a_disabled_endpoint_gets_only_what_somebody_asks_for_one_try_each(hooks):
    made = hooks.endpoint(disabled_at=clocks.now(), disabled_reason="failing")
    publish(hooks.tenant_id, 2)
    good, bad = Notification.select().order_by(Notification.sequence)
    hooks.manual(made, good)
    hooks.deliver()
    hooks.receiver.answer("/hook", status=500)
    hooks.manual(made, bad)
    hooks.deliver()
    hooks.deliver()
    assert hooks.receiver.sequences("/hook") == [1, 2]
    rows = hooks.rows(made)
    assert [(row.status_code, row.is_manual) for row in rows] == [(204, True), (500, True)]
    assert all(row.attempted_at is not None and row.duration_ms >= 0 for row in rows)
    now = hooks.now(made)
    assert (now.sequence, now.delivered, now.attempts) == (0, 1, 0)
    assert now.disabled_at is not None


def test_a_failing_endpoint_that_takes_a_manual_delivery_is_tried_again_at_once(hooks, clock):
    made = hooks.endpoint()
    hooks.receiver.answer("/hook", status=500)
    publish(hooks.tenant_id, 2)
    hooks.attempts(clock, made, 3)
    hooks.receiver.answer("/hook")
    hooks.manual(made, Notification.get(Notification.sequence == 2))
    hooks.deliver()
    assert hooks.receiver.sequences("/hook") == [1, 1, 1, 2, 1, 2]
    assert hooks.now(made).failing_since is None


def test_a_manual_delivery_without_a_number_waits_and_of_a_deleted_one_fails(hooks):
    made = hooks.endpoint(types='["intent.created"]')
    feed.record(hooks.tenant_id, NotificationType.WEBHOOK_TEST, {"webhook_id": made.id})
    test = Notification.get()
    hooks.manual(made, test)
    hooks.deliver()
    assert hooks.receiver.received() == []
    numbering.numbered_feed(hooks.tenant_id)
    hooks.deliver()
    (received,) = hooks.receiver.received()
    assert received["verified"] and received["body"]["data"] == {
        "sequence": 1,
        "webhook_id": made.id,
    }
    assert received["type"] == "webhook.test"
    row = hooks.manual(made, test)
    Notification.delete().execute()
    hooks.deliver()
    row = WebhookDelivery.get_by_id(row.id)
    assert (row.error, row.status_code) == ("notification deleted", None)
    assert len(hooks.receiver.received()) == 1
