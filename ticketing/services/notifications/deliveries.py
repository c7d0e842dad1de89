"""What is waiting to be delivered to webhook endpoints: read by the worker.

An endpoint is a cursor into its tenant's feed. Beside that, deliveries that somebody asked for are
rows of webhook_deliveries that were not attempted yet. See delivery_results for what follows.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from peewee import JOIN, ModelSelect

from ticketing import clock
from ticketing.models.notifications import (
    Notification,
    NotificationFeed,
    WebhookDelivery,
    WebhookEndpoint,
)
from ticketing.models.prepared import Prepared
from ticketing.notification_types import EVERY_TYPE, DeliveryError, NotificationType

FEED_BATCH = 100
"""How many notifications of a feed are read for an endpoint at once."""

MANUAL_BATCH = 10

LONGEST_WAIT = timedelta(hours=1)
"""The longest time between two attempts."""

_MILLISECONDS = 1000


@dataclass(frozen=True)
class Outcome:
    """What came of one attempt: a status or an error, and what the receiver said.

    `retry_after` is in seconds. `answer` is the start of the answer's text, without control
    characters, or None if the tenant must not see it.
    """

    status_code: int | None = None
    error: DeliveryError | None = None
    retry_after: int | None = None
    answer: str | None = None
    duration_ms: int = 0

    @property
    def is_delivered(self) -> bool:
        """Whether the receiver accepted it."""
        return self.status_code is not None and 200 <= self.status_code < 300

    def lasted(self, seconds: float) -> Outcome:
        """Return the same outcome with its duration."""
        return dataclasses.replace(self, duration_ms=round(seconds * _MILLISECONDS))


@dataclass(frozen=True)
class Waiting:
    """An endpoint with something to deliver now.

    `sequence` is its cursor. Up to `last_sequence` its tenant's feed is numbered; both are equal
    if only manual deliveries are waiting.
    """

    endpoint_id: str
    tenant_id: str
    sequence: int
    last_sequence: int
    is_failing: bool
    has_manual: bool


@dataclass(frozen=True)
class Item:
    """A notification to send. `body` is None if it was deleted. `delivery_id`: a manual one."""

    notification_id: str
    sequence: int | None
    type: str
    body: bytes | None
    delivery_id: str | None = None


@dataclass(frozen=True)
class Wanted:
    """Something to read for an endpoint: manual deliveries, or what follows `after` in the feed."""

    endpoint_id: str
    tenant_id: str
    after: int
    is_manual: bool


@dataclass(frozen=True)
class Batch:
    """What to send to an endpoint, in order: from its feed what follows `after`.

    With all of it, the cursor is at `last_sequence`.
    """

    endpoint: WebhookEndpoint
    items: Sequence[Item]
    after: int
    last_sequence: int
    is_manual: bool


@Prepared
def _behind(now: Any, too_late: Any) -> ModelSelect[WebhookEndpoint]:
    return (
        WebhookEndpoint.select(
            WebhookEndpoint.id,
            WebhookEndpoint.tenant,
            WebhookEndpoint.sequence,
            NotificationFeed.last_sequence,
            WebhookEndpoint.failing_since,
        )
        .join(NotificationFeed, on=NotificationFeed.tenant == WebhookEndpoint.tenant)
        .where(
            WebhookEndpoint.disabled_at.is_null(),
            WebhookEndpoint.sequence < NotificationFeed.last_sequence,
            WebhookEndpoint.next_attempt_at.is_null()
            | (WebhookEndpoint.next_attempt_at <= now)
            # It is too far in the future, because this clock was set back.
            | (WebhookEndpoint.next_attempt_at > too_late),
        )
    )


@Prepared
def _asked_for() -> ModelSelect[WebhookDelivery]:
    # Without a number, a notification cannot be sent yet. Without a row, it was deleted.
    return (
        WebhookDelivery.select(
            WebhookEndpoint.id,
            WebhookEndpoint.tenant,
            WebhookEndpoint.sequence,
            WebhookEndpoint.failing_since,
        )
        .join(WebhookEndpoint)
        .join(Notification, JOIN.LEFT_OUTER, on=Notification.id == WebhookDelivery.notification_id)
        .where(
            WebhookDelivery.attempted_at.is_null(),
            Notification.id.is_null() | Notification.sequence.is_null(False),
        )
        .distinct()
    )


@Prepared
def _after(tenant_id: Any, sequence: Any, limit: Any) -> ModelSelect[Notification]:
    return (
        Notification.select()
        .where(
            Notification.tenant == tenant_id,
            Notification.sequence.is_null(False),
            Notification.sequence > sequence,
        )
        .order_by(Notification.sequence)
        .limit(limit)
    )


@Prepared
def _manual(endpoint_id: Any, limit: Any) -> ModelSelect[WebhookDelivery]:
    return (
        WebhookDelivery.select()
        .where(WebhookDelivery.endpoint == endpoint_id, WebhookDelivery.attempted_at.is_null())
        .order_by(WebhookDelivery.id)
        .limit(limit)
    )


def waiting() -> dict[str, Waiting]:
    """Return all endpoints with something to deliver now, by id: two queries.

    A disabled or failing endpoint gets only what somebody asked for, until its next attempt.
    """
    now = clock.now()
    found = {
        endpoint_id: Waiting(endpoint_id, tenant_id, sequence, last, failing is not None, False)
        for endpoint_id, tenant_id, sequence, last, failing in _behind.tuples(
            now=now, too_late=now + LONGEST_WAIT + clock.CLOCKS_APART
        )
    }
    for endpoint_id, tenant_id, sequence, failing in _asked_for.tuples():
        known = found.get(endpoint_id) or Waiting(
            endpoint_id, tenant_id, sequence, sequence, failing is not None, False
        )
        found[endpoint_id] = dataclasses.replace(known, has_manual=True)
    return found


def load(wanted: Sequence[Wanted]) -> list[Batch]:
    """Read what to send. An endpoint that was deleted or disabled meanwhile is left out.

    Endpoints of a tenant at the same place of the feed share one query.
    """
    asked = [each.endpoint_id for each in wanted]
    endpoints = {
        each.id: each for each in WebhookEndpoint.select().where(WebhookEndpoint.id << asked)
    }
    pages: dict[tuple[str, int], list[Notification]] = {}
    batches = []
    for each in wanted:
        endpoint = endpoints.get(each.endpoint_id)
        if endpoint is None:
            continue
        if each.is_manual:
            batches.append(Batch(endpoint, _manual_items(endpoint), each.after, each.after, True))
        elif endpoint.disabled_at is None:
            place = each.tenant_id, each.after
            if place not in pages:
                pages[place] = _after.rows(
                    tenant_id=each.tenant_id, sequence=each.after, limit=FEED_BATCH
                )
            batches.append(_feed_batch(endpoint, pages[place], each.after))
    return batches


def _feed_batch(endpoint: WebhookEndpoint, page: Sequence[Notification], after: int) -> Batch:
    types = set(json.loads(endpoint.types))
    items = [
        Item(each.id, each.sequence, each.type, _body(each))
        for each in page
        # A test is for one endpoint, and is delivered as a manual delivery.
        if each.type != NotificationType.WEBHOOK_TEST and types & {EVERY_TYPE, each.type}
    ]
    last = max((each.sequence or after for each in page), default=after)
    return Batch(endpoint, items, after, last, False)


def _manual_items(endpoint: WebhookEndpoint) -> list[Item]:
    rows: list[WebhookDelivery] = _manual.rows(endpoint_id=endpoint.id, limit=MANUAL_BATCH)
    known = _by_id(row.notification_id for row in rows)
    items = []
    for row in rows:
        notification = known.get(row.notification_id)
        if notification is None:
            items.append(Item(row.notification_id, row.sequence, row.type, None, row.id))
        elif notification.sequence is not None:
            body = _body(notification)
            items.append(Item(notification.id, notification.sequence, row.type, body, row.id))
    return items


def _by_id(notification_ids: Iterable[str]) -> dict[str, Notification]:
    found = Notification.select().where(Notification.id << list(notification_ids))
    return {each.id: each for each in found}


def _body(notification: Notification) -> bytes:
    """Return the body of a webhook, as Standard Webhooks describes it."""
    data = {"sequence": notification.sequence, **json.loads(notification.data)}
    body = {
        "type": notification.type,
        "timestamp": clock.rfc3339(notification.created_at),
        "data": data,
    }
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()
