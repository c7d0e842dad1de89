"""Monitoring shows what waits and what fails. A receiver that is down does not stop the service."""

from datetime import timedelta

import pytest

from tests.api.test_metrics import TOKEN, read
from tests.support import webhook_receivers
from ticketing import clock, ids
from ticketing.models.notifications import (
    Mail,
    Notification,
    NotificationFeed,
    WebhookEndpoint,
)
from ticketing.services.notifications import figures


@pytest.fixture
def environ(environ):
    return {**environ, "METRICS_TOKEN": TOKEN}


@pytest.fixture
def feed(acme):
    """Ten numbered notifications, one a minute, the last a minute ago."""
    for table in (Notification, NotificationFeed, WebhookEndpoint, Mail):
        table.delete().execute()
    now = clock.now()
    for sequence in range(1, 11):
        note(acme, sequence, now - timedelta(minutes=11 - sequence))
    NotificationFeed.create(tenant=acme.id, last_sequence=10)
    return acme


def note(organizer, sequence, created_at):
    Notification.insert(
        id=ids.new(ids.NOTIFICATION),
        tenant=organizer.id,
        sequence=sequence,
        type="intent.created",
        created_at=created_at,
        data="{}",
    ).execute()


def endpoint(organizer, sequence, **columns):
    """Add an endpoint that got everything up to `sequence`. Return its id."""
    keyring = organizer.app.extensions["ticketing"].keyring
    columns |= {"url": "https://example.org/", "sequence": sequence}
    return webhook_receivers.endpoint(organizer.id, keyring, **columns).id


def test_nothing_waits_at_first(api, acme):
    for table in (Notification, NotificationFeed):
        table.delete().execute()
    found = read(api)
    assert found["ticketing_webhook_waiting"] == 0
    assert found["ticketing_notification_oldest_waiting_seconds"] == 0
    assert found['ticketing_webhook_endpoints{state="failing"}'] == 0
    assert found["ticketing_mails_waiting"] == found["ticketing_mails_dropped_last_day"] == 0


def test_what_waits_is_counted_for_each_enabled_endpoint(api, feed, neighbour):
    for sequence in (10, 7, 4):
        endpoint(feed, sequence)
    endpoint(feed, 0, disabled_at=clock.now())
    endpoint(neighbour, 0)
    found = read(api)
    assert found["ticketing_webhook_waiting"] == 3 + 6
    age = found["ticketing_notification_oldest_waiting_seconds"]
    assert 6 * 60 <= age < 6 * 60 + 3600
    assert found['ticketing_webhook_endpoints{state="disabled"}'] == 1


def test_a_notification_without_a_number_is_waiting_too(api, feed):
    endpoint(feed, 10)
    assert read(api)["ticketing_notification_oldest_waiting_seconds"] == 0
    note(feed, None, clock.now() - timedelta(hours=2))
    assert read(api)["ticketing_notification_oldest_waiting_seconds"] >= 7200


def test_failing_endpoints_are_named_and_only_so_many(api, feed, monkeypatch):
    monkeypatch.setattr(figures, "MAX_LABELS", 3)
    ago = [clock.now() - timedelta(hours=hours) for hours in range(5)]
    made = [endpoint(feed, 1, failing_since=time, attempts=7) for time in ago]
    endpoint(feed, 1, failing_since=ago[4], attempts=9, disabled_at=clock.now())
    endpoint(feed, 1)
    found = read(api)
    assert found['ticketing_webhook_endpoints{state="failing"}'] == 5
    named = {name: value for name, value in found.items() if "failed_attempts" in name}
    assert named == {
        f'ticketing_webhook_failed_attempts{{endpoint="{each}"}}': 7 for each in made[2:]
    }


def test_mails_that_wait_and_mails_that_were_dropped_are_counted(api, feed):
    now = clock.now()
    for status, ended_at in (
        ("waiting", None),
        ("waiting", None),
        ("sent", now),
        ("dropped", now),
        ("dropped", now - timedelta(hours=23)),
        ("dropped", now - timedelta(hours=25)),
    ):
        Mail.create(
            id=ids.new(ids.MAIL),
            tenant=feed.id,
            kind="order_confirmed",
            subject="pi_1",
            status=status,
            created_at=now,
            ended_at=ended_at,
        )
    found = read(api)
    assert found["ticketing_mails_waiting"] == 2
    assert found["ticketing_mails_dropped_last_day"] == 2


def test_the_service_is_ready_while_a_receiver_is_down(api, feed):
    endpoint(feed, 0, failing_since=clock.now() - timedelta(days=4), attempts=400)
    endpoint(feed, 0, failing_since=clock.now() - timedelta(days=6), disabled_at=clock.now())
    note(feed, None, clock.now() - timedelta(days=1))
    answer = api.get("/readyz")
    assert (answer.status_code, answer.json["status"]) == (200, "ready")
