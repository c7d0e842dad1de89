"""Deliveries of a webhook endpoint: asked for as a test, shown, bounded, deleted."""

import json
from datetime import timedelta

import pytest

from tests.support.factories import worker_once
from tests.support.webhook_endpoints import new_webhook, record
from ticketing import clock, ids
from ticketing.db import pruning
from ticketing.models.notifications import Notification, WebhookDelivery
from ticketing.services.notifications import webhooks

pytestmark = pytest.mark.sql


@pytest.fixture
def environ(environ):
    """The configuration without a chain."""
    return {name: value for name, value in environ.items() if name != "RPC_URL_31337"}


def test_a_test_records_a_notification_and_queues_one_delivery(acme, webhook):
    other = new_webhook(acme)
    before = clock.now()
    tested = webhook.done("test")
    (delivery,) = webhook.deliveries()
    assert delivery == tested
    assert tested.pop("id").startswith("whd_")
    assert before <= WebhookDelivery.get().created_at
    del tested["created_at"]
    notification = Notification.get(Notification.type == "webhook.test")
    assert tested == {
        "webhook_id": webhook.id,
        "notification_id": notification.id,
        "type": "webhook.test",
        "status": "waiting",
        "manual": True,
        "set_aside": False,
        "attempted_at": None,
        "status_code": None,
        "error": None,
        "duration_ms": None,
        "answer": None,
    }
    assert json.loads(notification.data) == {"webhook_id": webhook.id}
    assert other.deliveries() == []


def test_a_repeated_test_sends_nothing_more(webhook):
    headers = {"Idempotency-Key": "one"}
    answers = [webhook.api.post(f"{webhook.path}/test", headers=headers) for _ in range(2)]
    assert answers[0].status_code == answers[1].status_code == 200
    assert answers[0].json == answers[1].json
    assert len(webhook.deliveries()) == 1


def test_a_test_works_for_a_disabled_endpoint_too(webhook):
    webhook.fail(disabled_at=clock.now())
    assert webhook.done("test")["status"] == "waiting"
    assert webhook.now()["status"] == "disabled"


def test_too_much_is_not_queued(acme, webhook, monkeypatch):
    monkeypatch.setattr(webhooks, "MAX_WAITING", 3)
    notifications = [each.id for each in record(acme, 2)]
    webhook.done("resend", ids=notifications)
    refused = webhook.post("resend", ids=notifications)
    assert (refused.status_code, refused.json["code"]) == (429, "too_many_deliveries")
    assert refused.headers["Retry-After"] == "60"
    webhook.done("test")
    assert webhook.post("test").status_code == 429
    assert Notification.select().where(Notification.type == "webhook.test").count() == 1
    WebhookDelivery.update(attempted_at=clock.now()).execute()
    webhook.done("test")


def test_the_last_ones_that_passed_are_listed_for_seven_days(acme, webhook):
    """Beside those that failed. They are kept apart, so that many of them hide no failure."""
    began = clock.now()
    for number, status in ((1, 204), (2, 500), (3, 200)):
        WebhookDelivery.create(
            id=ids.new(ids.WEBHOOK_DELIVERY),
            endpoint=webhook.id,
            notification_id=f"ntf_{number}",
            sequence=number,
            type="intent.confirmed",
            is_manual=False,
            created_at=began,
            attempted_at=began,
            status_code=status,
            duration_ms=5,
        )
    shown = [(each["status"], each["status_code"]) for each in webhook.deliveries()]
    assert shown == [("delivered", 200), ("failed", 500), ("delivered", 204)]
    only_failed = webhook.deliveries(only_failed="true")
    assert [each["status_code"] for each in only_failed] == [500]
    week = int((began - timedelta(days=8)).timestamp() * 1_000_000)
    for place, row in enumerate(WebhookDelivery.select().order_by(WebhookDelivery.id)):
        old = ids.make(ids.WEBHOOK_DELIVERY, week + place, place)
        WebhookDelivery.update(id=old).where(WebhookDelivery.id == row.id).execute()
    webhooks.forget_old_deliveries()
    assert [each["status_code"] for each in webhook.deliveries()] == [500]


def test_deliveries_show_what_became_of_them_the_latest_first(acme, webhook):
    notifications = record(acme, 3)
    webhook.done("resend", ids=[each.id for each in notifications])
    rows = list(WebhookDelivery.select().order_by(WebhookDelivery.id))
    for row, columns in zip(
        rows,
        (
            {"status_code": 204, "duration_ms": 12},
            {"status_code": 500, "duration_ms": 7, "answer": "Oops", "is_set_aside": True},
            {"error": "timeout", "duration_ms": 10_000},
        ),
        strict=True,
    ):
        fields = {**columns, "attempted_at": clock.now()}
        WebhookDelivery.update(fields).where(WebhookDelivery.id == row.id).execute()
    shown = webhook.deliveries()
    assert [each["status"] for each in shown] == ["failed", "failed", "delivered"]
    assert [each["status_code"] for each in shown] == [None, 500, 204]
    assert [each["error"] for each in shown] == ["timeout", None, None]
    assert (shown[1]["answer"], shown[1]["set_aside"]) == ("Oops", True)
    assert [each["id"] for each in webhook.deliveries(limit=2)] == [
        each["id"] for each in shown[:2]
    ]


def test_deliveries_are_kept_for_thirty_days(app, acme, webhook, monkeypatch):
    monkeypatch.setattr(pruning, "AT_ONCE", 2)
    young = [webhook.done("test")["id"] for _ in range(2)]
    WebhookDelivery.update(attempted_at=clock.now(), error="timeout").execute()
    month = timedelta(days=30)
    for age in (month + timedelta(minutes=1), month * 2, month * 3, month - timedelta(minutes=1)):
        row = WebhookDelivery.select().first()
        moment = int((clock.now() - age).timestamp() * 1_000_000)
        row.id = ids.make(ids.WEBHOOK_DELIVERY, moment, 0)
        row.save(force_insert=True)
        young.append(row.id) if age < month else None
    worker_once(app)
    assert WebhookDelivery.select().count() == 4
    worker_once(app)
    assert {each.id for each in WebhookDelivery.select()} == set(young)
