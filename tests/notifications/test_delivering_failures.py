"""Receivers that fail: pauses, warnings, and endpoints that are disabled."""

import json
from datetime import timedelta

import pytest

from tests.support.factories import written
from tests.support.webhook_receivers import publish
from ticketing.models.notifications import Notification
from ticketing.notification_types import DisabledReason, NotificationType
from ticketing.services.notifications import deliveries, feed

FAILING = NotificationType.WEBHOOK_FAILING


def failed_after(hooks, clock, made):
    """Deliver. Return after how many seconds the next attempt is due."""
    hooks.deliver()
    return (hooks.now(made).next_attempt_at - clock.now).total_seconds()


def test_the_oldest_is_tried_again_after_growing_pauses_and_a_success_drains_the_rest(hooks, clock):
    made = hooks.endpoint()
    hooks.receiver.answer("/hook", status=500, text="broken")
    publish(hooks.tenant_id, 3)
    began = clock.now
    pauses = []
    for _ in range(6):
        pauses.append(failed_after(hooks, clock, made))
        hooks.deliver()
        clock.forward(seconds=pauses[-1])
    assert pauses[:3] == [5, 60, 300]
    assert all(810 <= pause <= 990 for pause in pauses[3:]) and len(set(pauses[3:])) > 1
    # Each was an attempt of the first one, and nothing was tried before its time.
    assert hooks.receiver.sequences("/hook") == [1] * 6
    assert len({each["id"] for each in hooks.receiver.received()}) == 1
    now = hooks.now(made)
    assert (now.attempts, now.sequence, now.delivered) == (6, 0, 0)
    assert now.failing_since == began
    rows = hooks.rows(made)
    assert [(row.sequence, row.status_code, row.error) for row in rows] == [(1, 500, None)] * 6
    assert not any(row.is_manual or row.is_set_aside for row in rows)
    assert {row.answer for row in rows} == {None}  # it answers from an allowed network
    hooks.receiver.answer("/hook")
    hooks.deliver()
    assert hooks.receiver.sequences("/hook") == [1] * 6 + [1, 2, 3]
    assert all(each["verified"] for each in hooks.receiver.received())
    now = hooks.now(made)
    assert (now.attempts, now.sequence, now.delivered) == (0, 3, 3)
    assert (now.failing_since, now.next_attempt_at, now.warned_at) == (None, None, None)


def test_a_failure_in_the_middle_keeps_what_was_delivered_before(hooks, clock):
    made = hooks.endpoint()
    publish(hooks.tenant_id, 3)
    publish(hooks.tenant_id, 1, "intent.created")
    publish(hooks.tenant_id, 2)
    hooks.receiver.answer("/hook", by_type=[{"type": "intent.created", "status": 503}])
    assert failed_after(hooks, clock, made) == 5
    assert hooks.receiver.sequences("/hook") == [1, 2, 3, 4]
    now = hooks.now(made)
    assert (now.sequence, now.delivered, now.attempts) == (3, 3, 1)


@pytest.mark.parametrize(
    ("retry_after", "pause"), [("1", 5), ("30", 30), ("1800", 1800), ("99999", 3600), ("x", 5)]
)
def test_retry_after_is_respected_up_to_an_hour(hooks, clock, retry_after, pause):
    made = hooks.endpoint()
    hooks.receiver.answer("/hook", status=429, headers={"Retry-After": retry_after})
    publish(hooks.tenant_id)
    assert failed_after(hooks, clock, made) == pause


def test_410_disables_the_endpoint_at_once_and_says_so(hooks, clock):
    made = hooks.endpoint()
    hooks.receiver.answer("/hook", status=410)
    publish(hooks.tenant_id, 2)
    hooks.deliver()
    clock.forward(days=1)
    hooks.deliver()
    assert hooks.receiver.sequences("/hook") == [1]
    now = hooks.now(made)
    assert (now.disabled_reason, now.sequence) == (DisabledReason.GONE, 0)
    assert now.disabled_at == clock.now - timedelta(days=1)
    (fact,) = hooks.facts(FAILING)
    assert json.loads(fact.data) == {
        "webhook_id": made.id,
        "is_disabled": True,
        "failing_since": written(now.failing_since),
    }


@pytest.mark.exhaustive
def test_it_warns_after_a_day_of_failing_and_disables_after_five_once_each(hooks, clock):
    made = hooks.endpoint()
    began = clock.now
    hooks.receiver.answer("/hook", status=500)
    publish(hooks.tenant_id)
    facts = []
    while hooks.now(made).disabled_at is None:
        assert clock.now < began + timedelta(days=6)
        hooks.deliver()
        if len(hooks.facts(FAILING)) > len(facts):
            facts = hooks.facts(FAILING)
            last = json.loads(facts[-1].data)
            days = (clock.now - began) / timedelta(days=1)
            assert (last["is_disabled"], int(days)) == (
                (False, 1) if len(facts) == 1 else (True, 5)
            )
        clock.forward(hours=3)
    assert len(facts) == 2
    now = hooks.now(made)
    assert (now.disabled_reason, now.failing_since) == (DisabledReason.FAILING, began)
    assert now.next_attempt_at is None
    count = len(hooks.receiver.received())
    clock.forward(days=1)
    hooks.deliver()
    assert len(hooks.receiver.received()) == count


def test_of_failures_a_bounded_number_is_kept(hooks, clock, monkeypatch):
    monkeypatch.setattr(deliveries, "KEPT", 3)
    made = hooks.endpoint()
    publish(hooks.tenant_id)
    # It is not sent, because its notification has no number yet.
    feed.record(hooks.tenant_id, NotificationType.WEBHOOK_TEST, {})
    waiting = hooks.manual(made, Notification.get(Notification.sequence.is_null()))
    hooks.receiver.answer("/hook", status=500)
    hooks.attempts(clock, made, 5)
    first, *rows = hooks.rows(made)
    assert (first.id, first.attempted_at) == (waiting.id, None)
    assert len(rows) == 3 and all(row.status_code == 500 for row in rows)
