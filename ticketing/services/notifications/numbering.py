"""Number the notifications of each tenant, so that a reader of the feed misses none.

A row is inserted without a sequence, because a number in the order of commits would make orders
wait for each other. Committed rows get their numbers later, in the order of their inserts, under
the lock of the tenant's feed. No order takes that lock. So a row that is committed later always
gets a larger number than those that a reader has seen.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from peewee import ModelSelect

from ticketing.db.connection import database, locked, write_transaction
from ticketing.models.notifications import Notification, NotificationFeed
from ticketing.models.prepared import Prepared
from ticketing.services import counters
from ticketing.services.notifications import facts

_AT_ONCE = 1000
"""How many rows one transaction numbers."""

_NUMBER = """
    UPDATE notifications SET sequence = {0} + place
    FROM (
        SELECT position AS numbered, row_number() OVER (ORDER BY position) AS place FROM (
            SELECT position FROM notifications WHERE tenant_id = {0} AND sequence IS NULL
            ORDER BY position LIMIT {0}
        ) AS unnumbered
    ) AS places
    WHERE notifications.position = numbered
    RETURNING type
"""

_STATUSES = {type.value: status for status, type in facts.ENTERED.items()}


@Prepared
def _unnumbered(tenant_id: Any) -> ModelSelect[Notification]:
    unnumbered = Notification.select(Notification.position).where(
        Notification.tenant == tenant_id, Notification.sequence.is_null()
    )
    return unnumbered.order_by(Notification.position).limit(1)


@Prepared
def _tenants() -> ModelSelect[Notification]:
    return (
        Notification.select(Notification.tenant).where(Notification.sequence.is_null()).distinct()
    )


@Prepared
def _lock_feed(tenant_id: Any) -> ModelSelect[NotificationFeed]:
    return locked(NotificationFeed.select().where(NotificationFeed.tenant == tenant_id))


def number_all() -> int:
    """Number all committed notifications. Return how many had no number."""
    total = 0
    for (tenant_id,) in _tenants.tuples():
        total += _number_rest(tenant_id)
    return total


def numbered_feed(tenant_id: str) -> NotificationFeed:
    """Number all committed notifications of a tenant, and return its feed."""
    _number_rest(tenant_id)
    feed: NotificationFeed | None = NotificationFeed.get_or_none(
        NotificationFeed.tenant == tenant_id
    )
    return feed or NotificationFeed(tenant=tenant_id)


def number(tenant_id: str) -> int:
    """Number some committed notifications of a tenant. Return how many: 0 if all have a number.

    Without new ones, this only reads.
    """
    if not _unnumbered.tuples(tenant_id=tenant_id):
        return 0
    with write_transaction():
        feed = lock_feed(tenant_id)
        sql = _NUMBER.format(database.param)
        types = database.execute_sql(sql, [feed.last_sequence, tenant_id, _AT_ONCE]).fetchall()
        last = feed.last_sequence + len(types)
        update = NotificationFeed.update(last_sequence=last)
        update.where(NotificationFeed.tenant == tenant_id).execute()
        _count(Counter(type for (type,) in types))
    return len(types)


def _number_rest(tenant_id: str) -> int:
    total = numbered = number(tenant_id)
    while numbered == _AT_ONCE:
        numbered = number(tenant_id)
        total += numbered
    return total


def lock_feed(tenant_id: str) -> NotificationFeed:
    """Lock a tenant's feed until the transaction ends. It begins with its first notification."""
    feed = _lock_feed.first(tenant_id=tenant_id)
    if feed is None:
        NotificationFeed.insert(tenant=tenant_id).on_conflict_ignore().as_rowcount().execute()
        feed = _lock_feed.first(tenant_id=tenant_id)
    assert feed is not None
    return feed


def _count(types: Counter[str]) -> None:
    """Count the intents that entered a status: here, so that it costs their orders nothing."""
    for type in types.keys() & _STATUSES.keys():
        counters.add(counters.ENTERED, _STATUSES[type], types[type])
