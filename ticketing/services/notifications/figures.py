"""Figures about notifications for monitoring: what waits, and what fails."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from peewee import EnclosedNodeList, fn

from ticketing import clock
from ticketing.models.base import literal
from ticketing.models.notifications import Mail, Notification, NotificationFeed, WebhookEndpoint
from ticketing.notification_types import MailStatus

MAX_LABELS = 100
"""Of how many failing endpoints the attempts are shown."""
DROPPED_WITHIN = timedelta(days=1)

_IS_ENABLED = WebhookEndpoint.disabled_at.is_null()
_IS_FAILING = WebhookEndpoint.failing_since.is_null(False)
_time = Notification.created_at.python_value


@dataclass(frozen=True)
class Figures:
    """`waiting`: notifications that enabled endpoints did not get yet, once for each endpoint.

    `oldest_seconds`: the age of the oldest of these, or of the oldest without a place in its feed;
    0 if there is none. `failed_attempts`: how many attempts failed in a row, by failing endpoint,
    the 100 that fail the longest. `mails_dropped`: in the last day.
    """

    waiting: int
    oldest_seconds: float
    failing: int
    disabled: int
    failed_attempts: Mapping[str, int]
    mails_waiting: int
    mails_dropped: int


def read() -> Figures:
    """Return the current figures of all tenants."""
    now = clock.now()
    # Subqueries, so that a database reads one row of the other tables for each endpoint.
    last = NotificationFeed.select(NotificationFeed.last_sequence).where(
        NotificationFeed.tenant == WebhookEndpoint.tenant
    )
    # In this order: `last - ...` would be SQL's EXCEPT.
    ahead = WebhookEndpoint.select(fn.SUM(WebhookEndpoint.sequence - last)).where(_IS_ENABLED)
    failing = WebhookEndpoint.select(WebhookEndpoint.id, WebhookEndpoint.attempts)
    failing = failing.where(_IS_FAILING, _IS_ENABLED).order_by(WebhookEndpoint.failing_since)
    dropped = (Mail.status == literal(MailStatus.DROPPED)) & (Mail.ended_at > now - DROPPED_WITHIN)
    oldest = _oldest()
    return Figures(
        waiting=max(0, -int(ahead.scalar() or 0)),
        oldest_seconds=max(0.0, (now - oldest).total_seconds()) if oldest else 0.0,
        failing=WebhookEndpoint.select().where(_IS_FAILING, _IS_ENABLED).count(),
        disabled=WebhookEndpoint.select().where(WebhookEndpoint.disabled_at.is_null(False)).count(),
        failed_attempts={each.id: each.attempts for each in failing.limit(MAX_LABELS)},
        mails_waiting=Mail.select().where(Mail.status == literal(MailStatus.WAITING)).count(),
        mails_dropped=Mail.select().where(dropped).count(),
    )


def _oldest() -> datetime | None:
    """Return when the oldest waiting notification was recorded."""
    earliest = fn.MIN(Notification.created_at)
    unnumbered = Notification.select(earliest).where(Notification.sequence.is_null())
    following = Notification.select(Notification.created_at).where(
        Notification.tenant == WebhookEndpoint.tenant,
        Notification.sequence == WebhookEndpoint.sequence + 1,
    )
    of_all = fn.MIN(EnclosedNodeList([following])).converter(_time)
    undelivered = WebhookEndpoint.select(of_all).where(_IS_ENABLED)
    found = (unnumbered.scalar(), undelivered.scalar())
    return min((time for time in found if time is not None), default=None)
