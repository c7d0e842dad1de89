"""Webhook endpoints for tests, created through the API, and facts recorded for them."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from werkzeug.test import TestResponse

from tests.support.factories import Api, Organizer
from ticketing import clock
from ticketing.db.connection import write_transaction
from ticketing.models.notifications import Notification, WebhookEndpoint
from ticketing.notification_types import NotificationType
from ticketing.services.notifications import feed, numbering

URL = "https://hooks.example.org/tickets"
NOT_FAILING = {
    "attempts": 0,
    "refusals": 0,
    **dict.fromkeys(("failing_since", "next_attempt_at", "warned_at")),
}
"""The columns of an endpoint that does not fail."""


@dataclass
class Webhook:
    """A webhook endpoint of a tenant, and what its organizer does with it."""

    organizer: Organizer
    created: dict[str, Any]

    @property
    def id(self) -> str:
        return self.created["id"]

    @property
    def path(self) -> str:
        return f"{self.organizer.path}/webhooks/{self.id}"

    @property
    def api(self) -> Api:
        return owner(self.organizer)

    @property
    def row(self) -> WebhookEndpoint:
        return WebhookEndpoint.get_by_id(self.id)

    @property
    def failing(self) -> dict[str, Any]:
        """Return the columns of its failures."""
        row = self.row
        return {name: getattr(row, name) for name in NOT_FAILING}

    def now(self) -> dict[str, Any]:
        answer = self.api.get(self.path)
        assert answer.status_code == 200, answer.json
        return answer.json

    def post(self, action: str, **fields: Any) -> TestResponse:
        return self.api.post(f"{self.path}/{action}", fields)

    def done(self, action: str, **fields: Any) -> dict[str, Any]:
        answer = self.post(action, **fields)
        assert answer.status_code == 200, answer.json
        return answer.json

    def deliveries(self, **query: Any) -> list[dict[str, Any]]:
        answer = self.api.get(f"{self.path}/deliveries", query_string=query)
        assert answer.status_code == 200, answer.json
        return answer.json["data"]

    def set(self, **columns: Any) -> None:
        """Set columns as the worker does."""
        WebhookEndpoint.update(columns).where(WebhookEndpoint.id == self.id).execute()

    def fail(self, **columns: Any) -> None:
        """Let it have failed for an hour, as the worker records it."""
        now = clock.now()
        failing = {
            "attempts": 4,
            "refusals": 2,
            "failing_since": now - timedelta(hours=1),
            "next_attempt_at": now + timedelta(minutes=9),
            "warned_at": now,
        }
        self.set(**{**failing, **columns})


def owner(organizer: Organizer) -> Api:
    """Return a client with the tenant's admin key."""
    return organizer.with_headers({"X-API-Key": organizer.admin_key})


def create(organizer: Organizer, **fields: Any) -> TestResponse:
    body = {"url": URL, "types": ["*"], **fields}
    return owner(organizer).post(f"{organizer.path}/webhooks", body)


def new_webhook(organizer: Organizer, **fields: Any) -> Webhook:
    """Create a webhook endpoint, by default for all types."""
    answer = create(organizer, **fields)
    assert answer.status_code == 201, answer.json
    return Webhook(organizer, answer.json)


def record(organizer: Organizer, count: int = 1, at: datetime | None = None) -> list[Notification]:
    """Record facts, by default now, and number them. Return them in their order."""
    facts = [(NotificationType.EVENT_CHANGED, {"number": n}) for n in range(count)]
    with write_transaction():
        made = feed.record_all(organizer.id, facts)
    if at is not None:
        Notification.update(created_at=at).where(Notification.id.in_(made)).execute()
    numbering.number(organizer.id)
    return list(
        Notification.select().where(Notification.id.in_(made)).order_by(Notification.sequence)
    )
