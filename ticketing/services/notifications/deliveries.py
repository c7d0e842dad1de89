"""Deliveries to webhook endpoints: what waits, and what follows from each attempt.

An endpoint is a cursor into its tenant's feed. Beside that, deliveries that somebody asked for are
rows of webhook_deliveries that were not attempted yet.

Retrying is a state of the endpoint. Its oldest waiting notification is tried again after 5 s,
1 min, 5 min, then every 15 min. The first success ends that state.
"""

from __future__ import annotations

import dataclasses
import json
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from peewee import JOIN, Expression, ModelSelect

from ticketing import clock, ids
from ticketing.backoff import Backoff
from ticketing.db.connection import locked, write_transaction
from ticketing.models.notifications import (
    PASSED,
    Notification,
    NotificationFeed,
    WebhookDelivery,
    WebhookEndpoint,
)
from ticketing.models.prepared import Prepared
from ticketing.notification_types import (
    EVERY_TYPE,
    DeliveryError,
    DisabledReason,
    NotificationType,
)
from ticketing.services.notifications import feed

FEED_BATCH = 100
"""How many notifications of a feed are read for an endpoint at once."""

MANUAL_BATCH = 10

LONGEST_WAIT = timedelta(hours=1)
"""The longest time between two attempts."""

_MILLISECONDS = 1000

BACKOFF = Backoff(
    (timedelta(seconds=5), timedelta(minutes=1), timedelta(minutes=5), timedelta(minutes=15)),
    jitter=0.1,
)

WARN_AFTER = timedelta(days=1)
DISABLE_AFTER = timedelta(days=5)

REFUSALS = 3
"""After how many refusals of one notification the next one is probed."""

NOT_FAILING: dict[str, Any] = {
    "attempts": 0,
    "refusals": 0,
    "failing_since": None,
    "next_attempt_at": None,
    "warned_at": None,
}
"""The columns of an endpoint that answers well."""

GONE = 410
_NO_REFUSAL = frozenset({408, 409, 425, 429})
"""4xx answers that are about the moment and not about the notification."""

KEPT = 1000
"""The deliveries that are kept for an endpoint, at most: more than five days of failing make."""

PASSED_KEPT = 100
"""The deliveries of the feed that passed and are kept for an endpoint, at most."""

log = logging.getLogger(__name__)


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


@dataclass(frozen=True)
class Attempt:
    """One attempt to send an item, and when it began."""

    item: Item
    outcome: Outcome
    began_at: datetime
    is_set_aside: bool = False


@dataclass(frozen=True)
class Report:
    """What was done for an endpoint since the last report.

    The cursor moved from `after` to `sequence`, with `delivered` successes of the feed, of which
    `passed` are the last ones. `failed` and `manual` are attempts. `failure` is the last attempt,
    if the endpoint failed now. `updated_at` is when the endpoint had been changed, as the attempts
    knew it.
    """

    endpoint_id: str
    after: int
    sequence: int
    delivered: int
    passed: Sequence[Attempt]
    failed: Sequence[Attempt]
    manual: Sequence[Attempt]
    failure: Attempt | None
    updated_at: datetime


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
    found = Notification.select().where(Notification.id << [row.notification_id for row in rows])
    known = {each.id: each for each in found}
    items = []
    for row in rows:
        notification = known.get(row.notification_id)
        if notification is None:
            items.append(Item(row.notification_id, row.sequence, row.type, None, row.id))
        elif notification.sequence is not None:
            body = _body(notification)
            items.append(Item(notification.id, notification.sequence, row.type, body, row.id))
    return items


def _body(notification: Notification) -> bytes:
    """Return the body of a webhook, as Standard Webhooks describes it."""
    data = {"sequence": notification.sequence, **json.loads(notification.data)}
    body = {
        "type": notification.type,
        "timestamp": clock.rfc3339(notification.created_at),
        "data": data,
    }
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()


def is_refusal(outcome: Outcome) -> bool:
    """Return whether the receiver refused this notification, rather than being unable now."""
    status = outcome.status_code
    return status is not None and 400 <= status < 500 and status not in {GONE, *_NO_REFUSAL}


def save(reports: Iterable[Report]) -> set[str]:
    """Write what was done, in one transaction. Return the endpoints that changed meanwhile.

    The newest state in the database has priority. The cursor of an endpoint that was moved stays
    where it is, and a failure does not count if the endpoint was changed or disabled meanwhile.
    """
    with write_transaction():
        return {
            report.endpoint_id
            for report in sorted(reports, key=lambda report: report.endpoint_id)
            if not _save(report)
        }


@Prepared
def _lock(endpoint_id: Any) -> ModelSelect[WebhookEndpoint]:
    return locked(WebhookEndpoint.select().where(WebhookEndpoint.id == endpoint_id))


def _save(report: Report) -> bool:
    """Write one report. Return whether the endpoint was as the report assumes."""
    endpoint = _lock.first(endpoint_id=report.endpoint_id)
    if endpoint is None:
        return False
    _write_attempts(report)
    # A request may have set the cursor to where it is stored: what was sent since is sent again.
    is_current = endpoint.sequence == report.after and endpoint.updated_at == report.updated_at
    passed = sum(attempt.outcome.is_delivered for attempt in report.manual)
    columns: dict[str, Any] = {}
    if report.delivered or passed:
        columns["delivered"] = endpoint.delivered + report.delivered + passed
    if is_current and report.sequence != report.after:
        columns |= {"sequence": report.sequence, "refusals": 0}
    if is_current and report.delivered:
        columns |= NOT_FAILING
    elif passed and endpoint.next_attempt_at is not None:
        columns["next_attempt_at"] = clock.now()  # it answers again
    if report.failure is not None and is_current and endpoint.disabled_at is None:
        for name, value in columns.items():
            setattr(endpoint, name, value)
        columns |= _failing(endpoint, report.failure)
    if columns:
        WebhookEndpoint.update(columns).where(WebhookEndpoint.id == endpoint.id).execute()
    return is_current


def _failing(endpoint: WebhookEndpoint, failure: Attempt) -> dict[str, Any]:
    """Return the columns after one more failure. Record what the tenant should know."""
    now, outcome = clock.now(), failure.outcome
    since = endpoint.failing_since or now
    columns: dict[str, Any] = {
        "attempts": endpoint.attempts + 1,
        "refusals": endpoint.refusals + is_refusal(outcome),
        "failing_since": since,
        "next_attempt_at": now + _pause(endpoint.attempts + 1, outcome),
    }
    what = f"status {outcome.status_code}" if outcome.error is None else outcome.error
    log.info("webhook endpoint %s: %s", endpoint.id, what)
    reason = DisabledReason.GONE if outcome.status_code == GONE else None
    if reason is None and now >= since + DISABLE_AFTER:
        reason = DisabledReason.FAILING
    if reason is not None:
        columns |= {"disabled_at": now, "disabled_reason": reason, "next_attempt_at": None}
        log.warning("webhook endpoint %s is disabled: %s", endpoint.id, reason)
    elif endpoint.warned_at is None and now >= since + WARN_AFTER:
        columns["warned_at"] = now
    else:
        return columns
    said = {"webhook_id": endpoint.id, "is_disabled": reason is not None}
    said["failing_since"] = clock.rfc3339(since)
    feed.record(endpoint.tenant_id, NotificationType.WEBHOOK_FAILING, said)
    return columns


def _pause(attempts: int, outcome: Outcome) -> timedelta:
    """Return how long to wait after this many failures in a row."""
    pause = BACKOFF.pause(attempts)
    return min(max(pause, timedelta(seconds=outcome.retry_after or 0)), LONGEST_WAIT)


def _write_attempts(report: Report) -> None:
    for attempt in report.manual:
        delivery_id = attempt.item.delivery_id
        row = WebhookDelivery.update(_result(attempt)).where(
            WebhookDelivery.endpoint == report.endpoint_id,
            WebhookDelivery.id == delivery_id,
            WebhookDelivery.attempted_at.is_null(),
        )
        row.execute()
    rows = [
        {
            "id": ids.new(ids.WEBHOOK_DELIVERY),
            "endpoint": report.endpoint_id,
            "notification_id": attempt.item.notification_id,
            "type": attempt.item.type,
            "is_manual": False,
            "is_set_aside": attempt.is_set_aside,
            "created_at": attempt.began_at,
            **_result(attempt),
        }
        for attempt in sorted((*report.failed, *report.passed), key=lambda each: each.began_at)
    ]
    if rows:
        WebhookDelivery.insert_many(rows).execute()
    if report.failed or report.manual:
        _forget_most(report.endpoint_id, ~PASSED, KEPT)
    if report.passed:
        _forget_most(report.endpoint_id, PASSED, PASSED_KEPT)


def _result(attempt: Attempt) -> dict[str, Any]:
    return {
        "attempted_at": attempt.began_at,
        "sequence": attempt.item.sequence,
        "status_code": attempt.outcome.status_code,
        "error": attempt.outcome.error,
        "duration_ms": attempt.outcome.duration_ms,
        "answer": attempt.outcome.answer,
    }


def _forget_most(endpoint_id: str, of: Expression, most: int) -> None:
    """Delete the oldest deliveries of an endpoint, so that `most` of some are left."""
    ended = (WebhookDelivery.endpoint == endpoint_id) & WebhookDelivery.attempted_at.is_null(False)
    kept = WebhookDelivery.select(WebhookDelivery.id).where(ended, of)
    oldest = kept.order_by(WebhookDelivery.id.desc()).offset(most - 1).limit(1).first()
    if oldest is not None:
        WebhookDelivery.delete().where(ended, of, WebhookDelivery.id < oldest.id).execute()
