"""Notifications that a receiver refuses: which of them are set aside."""

import json

import pytest

from tests.support.webhook_receivers import publish
from ticketing.notification_types import DisabledReason


def refuse(hooks, status=400):
    hooks.receiver.answer("/hook", by_type=[{"type": "intent.created", "status": status}])


def test_what_is_refused_three_times_is_set_aside_if_the_next_one_passes(hooks, clock):
    made = hooks.endpoint(types=json.dumps(["intent.created", "event.changed"]))
    publish(hooks.tenant_id, 1)
    publish(hooks.tenant_id, 1, "intent.created")
    publish(hooks.tenant_id, 1, "intent.expired")  # is not for this endpoint
    publish(hooks.tenant_id, 2)
    refuse(hooks)
    hooks.attempts(clock, made, 2)
    assert hooks.receiver.sequences("/hook") == [1, 2, 2]
    assert hooks.now(made).refusals == 2
    hooks.deliver()
    assert hooks.receiver.sequences("/hook") == [1, 2, 2, 2, 4, 5]
    now = hooks.now(made)
    assert (now.sequence, now.delivered, now.refusals, now.failing_since) == (5, 3, 0, None)
    rows = hooks.rows(made)
    assert [(row.sequence, row.is_set_aside) for row in rows] == [
        (2, False),
        (2, False),
        (2, True),
    ]


def test_if_the_next_one_is_refused_too_nothing_is_set_aside(hooks, clock):
    made = hooks.endpoint()
    publish(hooks.tenant_id, 3, "intent.created")
    refuse(hooks)
    hooks.attempts(clock, made, 4)
    assert hooks.receiver.sequences("/hook") == [1, 1, 1, 2, 1, 2]
    now = hooks.now(made)
    assert (now.sequence, now.attempts, now.refusals) == (0, 4, 4)
    assert not any(row.is_set_aside for row in hooks.rows(made))


def test_a_probe_that_answers_410_disables_the_endpoint(hooks, clock):
    made = hooks.endpoint()
    publish(hooks.tenant_id, 1, "intent.created")
    publish(hooks.tenant_id, 1, "intent.expired")
    rules = [{"type": "intent.created", "status": 400}, {"type": "intent.expired", "status": 410}]
    hooks.receiver.answer("/hook", by_type=rules)
    hooks.attempts(clock, made, 3)
    now = hooks.now(made)
    assert (now.disabled_reason, now.sequence) == (DisabledReason.GONE, 0)
    assert [row.status_code for row in hooks.rows(made)] == [400, 400, 400, 410]


def test_the_last_one_that_is_refused_waits_for_a_next_one(hooks, clock):
    made = hooks.endpoint()
    publish(hooks.tenant_id, 1, "intent.created")
    refuse(hooks)
    hooks.attempts(clock, made, 5)
    assert hooks.now(made).sequence == 0
    publish(hooks.tenant_id, 1)
    hooks.deliver()
    assert hooks.receiver.sequences("/hook") == [1] * 6 + [2]
    assert hooks.now(made).sequence == 2


@pytest.mark.parametrize("status", [301, 408, 409, 425, 429, 500, 503])
@pytest.mark.long
def test_answers_about_the_moment_never_set_a_notification_aside(hooks, clock, status):
    made = hooks.endpoint()
    publish(hooks.tenant_id, 1, "intent.created")
    publish(hooks.tenant_id, 1)
    refuse(hooks, status)
    hooks.attempts(clock, made, 5)
    assert hooks.receiver.sequences("/hook") == [1] * 5
    assert (hooks.now(made).refusals, hooks.now(made).sequence) == (0, 0)
