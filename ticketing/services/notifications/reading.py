"""Read a tenant's feed, delete what is old, and skip positions after a restore."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from ticketing import clock
from ticketing.db.connection import snapshot, write_transaction
from ticketing.errors import FeedPositionGone
from ticketing.models.notifications import Notification, NotificationFeed
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.tenants import Tenant
from ticketing.notification_types import NotificationType
from ticketing.services.notifications import numbering

JUMP = 1_000_000
"""How many positions are skipped after a restore."""

OF_INTENT = 500
"""How many notifications of one order are shown."""

_FORGOTTEN_AT_ONCE = 1000


@dataclass(frozen=True)
class FeedPage:
    """Some notifications, the oldest first. Read on after the sequence `next_after`."""

    data: Sequence[Notification]
    next_after: int


def page(
    tenant_id: str, *, after: int | None, type: NotificationType | None, limit: int
) -> FeedPage:
    """Return the notifications after a sequence (None: from the oldest that is kept).

    FeedPositionGone if later ones are deleted already, or if `after` was never given.
    """
    numbering.number(tenant_id)
    with snapshot():
        feed = NotificationFeed.get_or_none(NotificationFeed.tenant == tenant_id)
        feed = feed or NotificationFeed(tenant=tenant_id)
        if after is not None and not _is_position(feed, after):
            raise FeedPositionGone
        start = feed.forgotten_sequence if after is None else after
        query = Notification.select().where(
            Notification.tenant == tenant_id, Notification.sequence > start
        )
        if type is not None:
            query = query.where(Notification.type == type)
        rows = list(query.order_by(Notification.sequence).limit(limit))
    last = rows[-1].sequence if len(rows) == limit else feed.last_sequence
    assert last is not None
    return FeedPage(rows, last)


def of_intent(intent: PaymentIntent) -> Sequence[Notification]:
    """Return what is kept of an order and its admissions, in the order of the inserts.

    At most OF_INTENT, the latest ones.
    """
    of_it = Notification.select().where(Notification.intent_id == intent.id)
    return list(of_it.order_by(Notification.position.desc()).limit(OF_INTENT))[::-1]


def forget_old(days: int) -> None:
    """Delete the notifications that are older than this. Their positions are gone."""
    while _forget_some(days) == _FORGOTTEN_AT_ONCE:
        pass


def jump_ahead() -> None:
    """Skip positions in every feed. Call it in a transaction, after a restore.

    A reader may know newer positions than the database. Those are gone, and are not given again.
    """
    for tenant in Tenant.select(Tenant.id).order_by(Tenant.id):
        feed = numbering.lock_feed(tenant.id)
        (
            NotificationFeed.update(
                last_sequence=feed.last_sequence + JUMP, restored_sequence=feed.last_sequence
            )
            .where(NotificationFeed.tenant == tenant.id)
            .execute()
        )


def _is_position(feed: NotificationFeed, after: int) -> bool:
    if not feed.forgotten_sequence <= after <= feed.last_sequence:
        return False
    skipped = feed.restored_sequence
    return skipped is None or not skipped < after < skipped + JUMP


def _forget_some(days: int) -> int:
    """Delete some old notifications. Return how many rows were old, at most a full batch."""
    too_old = clock.now() - timedelta(days=days)
    oldest = Notification.select(
        Notification.tenant, Notification.sequence, Notification.created_at
    ).order_by(Notification.position)
    last: dict[str, int] = {}
    old = [row for row in oldest.limit(_FORGOTTEN_AT_ONCE) if row.created_at < too_old]
    for row in old:
        if row.sequence is not None:
            last[row.tenant_id] = max(row.sequence, last.get(row.tenant_id, 0))
    for tenant_id, sequence in sorted(last.items()):
        of_feed = NotificationFeed.tenant == tenant_id
        is_earlier = NotificationFeed.forgotten_sequence < sequence
        forgotten = (Notification.tenant == tenant_id) & (Notification.sequence <= sequence)
        with write_transaction():
            numbering.lock_feed(tenant_id)
            forget = NotificationFeed.update(forgotten_sequence=sequence)
            forget.where(of_feed, is_earlier).execute()
            Notification.delete().where(forgotten).execute()
    return len(old) if last else 0
