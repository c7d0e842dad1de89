"""Give the notifications of each tenant their places in the feed: see `services.sequencing`.

An order inserts its notifications without a place, so that orders do not wait for each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from peewee import ModelSelect

from ticketing.models.notifications import Notification, NotificationFeed
from ticketing.models.prepared import Prepared
from ticketing.services import counters
from ticketing.services.notifications import facts
from ticketing.services.sequencing import Sequencer

_STATUSES = {type.value: status for status, type in facts.ENTERED.items()}


def _count(types: Sequence[str]) -> None:
    """Count the intents that entered a status: here, so that it costs their orders nothing."""
    counts = Counter(types)
    for type in counts.keys() & _STATUSES.keys():
        counters.add(counters.ENTERED, _STATUSES[type], counts[type])


_feeds: Sequencer[NotificationFeed] = Sequencer(
    Notification.sequence,
    owner=Notification.tenant,
    order=Notification.position,
    last=NotificationFeed.last_sequence,
    returned=Notification.type,
    on_numbered=_count,
)


@Prepared
def _tenants() -> ModelSelect[Notification]:
    return (
        Notification.select(Notification.tenant).where(Notification.sequence.is_null()).distinct()
    )


def number_all() -> int:
    """Number all committed notifications. Return how many had no number."""
    return sum(_feeds.number_all(tenant_id) for (tenant_id,) in _tenants.tuples())


def numbered_feed(tenant_id: str) -> NotificationFeed:
    """Number all committed notifications of a tenant, and return its feed."""
    _feeds.number_all(tenant_id)
    feed: NotificationFeed | None = NotificationFeed.get_or_none(
        NotificationFeed.tenant == tenant_id
    )
    return feed or NotificationFeed(tenant=tenant_id)


def number(tenant_id: str) -> int:
    """Number some committed notifications of a tenant. Return how many: 0 if all have a number.

    Without new ones, this only reads.
    """
    return _feeds.number_some(tenant_id)


def lock_feed(tenant_id: str) -> NotificationFeed:
    """Lock a tenant's feed until the transaction ends. It begins with its first notification."""
    return _feeds.lock(tenant_id)
