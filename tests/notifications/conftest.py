"""Fixtures of the tests of webhooks: an endpoint, a receiver in a process, a worker in this one."""

from datetime import UTC, datetime

import pytest

from tests.support.stopped_clock import StoppedClock
from tests.support.webhook_endpoints import new_webhook
from tests.support.webhook_receivers import LOOPBACK, Receiver, endpoint
from ticketing import clock as clocks
from ticketing import ids
from ticketing.models.notifications import PASSED, Notification, WebhookDelivery, WebhookEndpoint
from ticketing.worker.delivering import Delivering

pytestmark = pytest.mark.one_database


@pytest.fixture
def environ(environ):
    """Webhooks may go to this machine."""
    return {**environ, "WEBHOOK_ALLOW": LOOPBACK}


@pytest.fixture
def webhook(acme):
    """An endpoint that its organizer has created, and that no delivery reaches."""
    return new_webhook(acme)


@pytest.fixture
def receiver(starts_processes, tmp_path):
    with Receiver(tmp_path / "receiver") as running:
        yield running


class Hooks:
    """The webhooks of a tenant: its receiver, and the worker that delivers."""

    def __init__(self, app, tenant_id, receiver):
        self.app, self.config = app, app.extensions["ticketing"]
        self.tenant_id, self.receiver = tenant_id, receiver

    def endpoint(self, path="/hook", **fields):
        return endpoint(self.tenant_id, self.config.keyring, self.receiver, path, **fields)

    def deliver(self, look_up=None):
        """Deliver what is due, as the worker does."""
        Delivering(self.config, look_up).once()

    def attempts(self, clock, made, count):
        """Deliver so many times. After a failure, the next time is when its pause has ended."""
        for _ in range(count):
            self.deliver()
            due = self.now(made).next_attempt_at
            if due is not None:
                clock.now = due
                clock.forward()

    def manual(self, made, notification):
        """Insert a delivery that somebody asked for."""
        return WebhookDelivery.create(
            id=ids.new(ids.WEBHOOK_DELIVERY),
            endpoint=made,
            notification_id=notification.id,
            sequence=notification.sequence,
            type=notification.type,
            is_manual=True,
            created_at=clocks.now(),
        )

    def now(self, made):
        """Return the endpoint as it is in the database now."""
        return WebhookEndpoint.get_by_id(made.id)

    def rows(self, made):
        """Return the failed and manual deliveries of an endpoint, the oldest first."""
        rows = WebhookDelivery.select().where(WebhookDelivery.endpoint == made, ~PASSED)
        return list(rows.order_by(WebhookDelivery.id))

    def passed(self, made):
        """Return the sequences of the deliveries of an endpoint that passed, the oldest first."""
        rows = WebhookDelivery.select().where(WebhookDelivery.endpoint == made, PASSED)
        return [row.sequence for row in rows.order_by(WebhookDelivery.id)]

    def facts(self, type):
        """Return the notifications of one type, numbered or not."""
        return list(Notification.select().where(Notification.type == type))


@pytest.fixture
def hooks(acme, receiver):
    return Hooks(acme.app, acme.id, receiver)


class Clock(StoppedClock):
    """The clock of the worker and of the receiver."""

    def __init__(self, monkeypatch, receiver):
        super().__init__(monkeypatch, datetime.now(UTC))
        self._receiver, self._start = receiver, self.now

    def forward(self, **delta):
        super().forward(**delta)
        self._receiver.clock_forward((self.now - self._start).total_seconds())


@pytest.fixture
def clock(hooks, receiver, monkeypatch):
    """A clock that only the test moves. Everything that is made before it has the real time."""
    return Clock(monkeypatch, receiver)
