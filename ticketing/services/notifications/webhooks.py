"""Webhook endpoints: create, change, rotate, test and enable them; send notifications again."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from peewee import Expression, ModelSelect

from ticketing import clock, ids
from ticketing.config import Config
from ticketing.credentials import Keyring
from ticketing.db import pruning
from ticketing.db.connection import locked, one_at_a_time, write_transaction
from ticketing.errors import NotFound, TooManyDeliveries, TooManyWebhooks
from ticketing.models.notifications import (
    PASSED,
    Notification,
    NotificationFeed,
    WebhookDelivery,
    WebhookEndpoint,
)
from ticketing.models.prepared import Prepared
from ticketing.notification_types import MAX_WEBHOOKS, NotificationType
from ticketing.services.notifications import feed, numbering, webhook_secrets, webhook_urls
from ticketing.services.notifications.deliveries import NOT_FAILING
from ticketing.services.pagination import Page, PageRequest, paginate

DELIVERIES_KEPT, PASSED_KEPT_FOR = timedelta(days=30), timedelta(days=7)
MAX_WAITING = 1000
"""Deliveries of one endpoint that were asked for and are not sent yet."""
RETRY_AFTER_SECONDS = 60


@Prepared
def _first_from(tenant_id: Any, sequence: Any) -> ModelSelect[Notification]:
    return (
        Notification.select(Notification.sequence, Notification.created_at)
        .where(Notification.tenant == tenant_id, Notification.sequence >= sequence)
        .order_by(Notification.sequence)
        .limit(1)
    )


def create(tenant_id: str, *, url: str, types: Sequence[str], config: Config) -> WebhookEndpoint:
    """Create an endpoint that gets what is recorded from now on. Its `plaintext` is the secret.

    Invalid for a URL that may not be called; TooManyWebhooks.
    """
    webhook_urls.check(url, config.webhook_allow)
    now, secret = clock.now(), webhook_secrets.new_secret()
    with write_transaction():
        one_at_a_time(f"webhooks of {tenant_id}")
        of_tenant = WebhookEndpoint.select().where(WebhookEndpoint.tenant == tenant_id)
        if of_tenant.count() >= MAX_WEBHOOKS:
            raise TooManyWebhooks
        endpoint = WebhookEndpoint(
            id=ids.new(ids.WEBHOOK_ENDPOINT),
            tenant=tenant_id,
            url=url,
            types=json.dumps(types),
            created_at=now,
            updated_at=now,
            sequence=numbering.numbered_feed(tenant_id).last_sequence,
        )
        webhook_secrets.store(endpoint, secret, config.keyring)
        endpoint.save(force_insert=True)
    endpoint.plaintext = secret
    return endpoint


def list_page(tenant_id: str, page: PageRequest) -> Page[WebhookEndpoint]:
    """Return a page of a tenant's endpoints, the oldest first."""
    query = WebhookEndpoint.select().where(WebhookEndpoint.tenant == tenant_id)
    return paginate(query, [WebhookEndpoint.id], page, scope=f"webhooks {tenant_id}")


def get(tenant_id: str, webhook_id: str) -> WebhookEndpoint:
    """Return one endpoint of a tenant. NotFound."""
    return _one(_select(tenant_id, webhook_id))


def change(
    tenant_id: str,
    webhook_id: str,
    *,
    config: Config,
    url: str | None = None,
    types: Sequence[str] | None = None,
) -> WebhookEndpoint:
    """Change the URL, the types, or both. The endpoint goes on where it is.

    With another URL it no longer counts as failing; a disabled one stays disabled. NotFound;
    Invalid for a URL that may not be called.
    """
    if url is not None:
        webhook_urls.check(url, config.webhook_allow)
    with write_transaction():
        endpoint = _lock(tenant_id, webhook_id)
        if types is not None:
            endpoint.types = json.dumps(types)
        if url is not None and url != endpoint.url:
            _set(endpoint, url=url, **NOT_FAILING)
        return _save(endpoint)


def delete(tenant_id: str, webhook_id: str) -> None:
    """Delete an endpoint with its deliveries. NotFound."""
    with write_transaction():
        _lock(tenant_id, webhook_id).delete_instance()


def rotate(
    tenant_id: str, webhook_id: str, *, overlap_seconds: int, keyring: Keyring
) -> WebhookEndpoint:
    """Give an endpoint a new secret, in `plaintext`. Deliveries are signed with it from now on.

    For `overlap_seconds`, they are signed with the previous secret too. NotFound.
    """
    secret = webhook_secrets.new_secret()
    expires_at = clock.now() + timedelta(seconds=overlap_seconds)
    with write_transaction():
        endpoint = _lock(tenant_id, webhook_id)
        webhook_secrets.rotate(endpoint, secret, expires_at, keyring)
        _save(endpoint)
    endpoint.plaintext = secret
    return endpoint


def enable(tenant_id: str, webhook_id: str, *, since: datetime | None = None) -> WebhookEndpoint:
    """Deliver again at once, if the endpoint is disabled or failing.

    It goes on where it stopped, or from `since`: what was recorded between is then never sent, or
    sent again. NotFound.
    """
    with write_transaction():
        feed_end = None if since is None else numbering.numbered_feed(tenant_id)
        endpoint = _lock(tenant_id, webhook_id)
        _set(endpoint, disabled_at=None, disabled_reason=None, **NOT_FAILING)
        if feed_end is not None and since is not None:
            endpoint.sequence = _before(feed_end, since)
        return _save(endpoint)


def send_test(tenant_id: str, webhook_id: str) -> WebhookDelivery:
    """Record a notification `webhook.test`, and queue one delivery of it. Return the delivery.

    NotFound, TooManyDeliveries.
    """
    with write_transaction():
        endpoint = _lock(tenant_id, webhook_id)
        type = NotificationType.WEBHOOK_TEST
        notification_id = feed.record(tenant_id, type, {"webhook_id": webhook_id})
        (delivery,) = _queue(endpoint, [Notification(id=notification_id, type=type)])
    return delivery


def resend(
    tenant_id: str,
    webhook_id: str,
    *,
    since: datetime | None = None,
    notification_ids: Sequence[str] = (),
) -> WebhookEndpoint:
    """Send notifications again: everything from `since` in its order, or one try for each id.

    A `since` later than what waits now changes nothing. NotFound, also for an unknown
    notification; TooManyDeliveries.
    """
    with write_transaction():
        feed_end = None if since is None else numbering.numbered_feed(tenant_id)
        endpoint = _lock(tenant_id, webhook_id)
        if feed_end is not None and since is not None:
            endpoint.sequence = min(endpoint.sequence, _before(feed_end, since))
            endpoint.refusals = 0
            return _save(endpoint)
        _queue(endpoint, _find_all(tenant_id, notification_ids))
        return endpoint


def list_deliveries(
    tenant_id: str, webhook_id: str, page: PageRequest, *, with_passed: bool = True
) -> Page[WebhookDelivery]:
    """Return a page of an endpoint's deliveries, the latest first. NotFound.

    Without `with_passed`, only those that failed or that somebody asked for.
    """
    get(tenant_id, webhook_id)
    query = WebhookDelivery.select().where(WebhookDelivery.endpoint == webhook_id)
    if not with_passed:
        query = query.where(~PASSED)
    scope = f"webhook_deliveries {tenant_id} {webhook_id} {with_passed}"
    return paginate(query, [WebhookDelivery.id], page, scope=scope, descending=True)


def forget_old_deliveries() -> None:
    """Delete some of the deliveries that are older than DELIVERIES_KEPT, or PASSED_KEPT_FOR."""
    _forget_before(DELIVERIES_KEPT)
    _forget_before(PASSED_KEPT_FOR, PASSED)


def _forget_before(span: timedelta, *conditions: Expression) -> None:
    oldest = clock.now() - span
    # Ids sort by time, so the primary key finds the oldest.
    before = ids.make(ids.WEBHOOK_DELIVERY, int(oldest.timestamp() * 1_000_000), 0)
    is_old = WebhookDelivery.id < before
    for condition in conditions:
        is_old &= condition
    pruning.delete_some(WebhookDelivery.id, is_old, first=WebhookDelivery.id)


def _select(tenant_id: str, webhook_id: str) -> ModelSelect[WebhookEndpoint]:
    return WebhookEndpoint.select().where(
        WebhookEndpoint.tenant == tenant_id, WebhookEndpoint.id == webhook_id
    )


def _lock(tenant_id: str, webhook_id: str) -> WebhookEndpoint:
    return _one(locked(_select(tenant_id, webhook_id)))


def _one(query: ModelSelect[WebhookEndpoint]) -> WebhookEndpoint:
    endpoint: WebhookEndpoint | None = query.first()
    if endpoint is None:
        raise NotFound("This webhook endpoint does not exist.")
    return endpoint


def _set(endpoint: WebhookEndpoint, **columns: Any) -> None:
    for name, value in columns.items():
        setattr(endpoint, name, value)


def _save(endpoint: WebhookEndpoint) -> WebhookEndpoint:
    endpoint.updated_at = clock.now()
    # Not the other columns: deliveries change them at the same time.
    endpoint.save(only=endpoint.dirty_fields)
    return endpoint


def _before(feed_end: NotificationFeed, since: datetime) -> int:
    """Return a sequence after which everything lies that was recorded at `since` or later.

    Times are almost in the order of the sequences: the clocks of hosts differ. So it may be a
    minute too early.
    """
    start = since - clock.CLOCKS_APART
    first = feed_end.forgotten_sequence + 1

    def is_late(sequence: int) -> bool:
        found = _first_from.first(tenant_id=feed_end.tenant_id, sequence=sequence)
        return found is None or found.created_at >= start

    kept = range(first, feed_end.last_sequence + 1)
    return first - 1 + bisect_left(kept, True, key=is_late)


def _find_all(tenant_id: str, notification_ids: Sequence[str]) -> list[Notification]:
    """Return notifications of a tenant in the order of their ids. NotFound names the unknown."""
    wanted = list(dict.fromkeys(notification_ids))
    rows = Notification.select(Notification.id, Notification.sequence, Notification.type).where(
        Notification.tenant == tenant_id, Notification.id.in_(wanted)
    )
    found = {row.id: row for row in rows}
    unknown = [str(place) for place, each in enumerate(notification_ids) if each not in found]
    if unknown:
        raise NotFound(f"These places in ids have no notification: {', '.join(unknown)}.")
    return [found[each] for each in wanted]


def _queue(
    endpoint: WebhookEndpoint, notifications: Sequence[Notification]
) -> list[WebhookDelivery]:
    """Queue one delivery of each notification to a locked endpoint. TooManyDeliveries."""
    waiting = WebhookDelivery.select().where(
        WebhookDelivery.endpoint == endpoint.id, WebhookDelivery.attempted_at.is_null()
    )
    if waiting.count() + len(notifications) > MAX_WAITING:
        raise TooManyDeliveries(retry_after=RETRY_AFTER_SECONDS)
    return [
        WebhookDelivery.create(
            id=ids.new(ids.WEBHOOK_DELIVERY),
            endpoint=endpoint.id,
            notification_id=each.id,
            sequence=each.sequence,
            type=each.type,
            is_manual=True,
            created_at=clock.now(),
        )
        for each in notifications
    ]
