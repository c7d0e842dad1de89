"""Which entries leave the sale open, because the seats that are free are not for them now.

An entry that waits closes the sale, so that no stranger is faster than the worker. Seats that stay
free in spite of that would be kept from everybody. So an entry is idle, and closes the sale to
nobody, while seats are free that it does not get:

- at once, if its client has as many unpaid offers as it may (candidates.py), or as many free seats;
- an hour after seats were free for the first time that were fewer than it wants, or than another
  entry wants that waits. Then all who want more than is free are idle. So a list keeps such seats
  from buyers for an hour, and not for an hour of each entry.

An idle entry keeps its place. Once nothing is free any more, it closes the sale again.

Example: Ada waits for 4 seats. At 10:00 one becomes free. Until 11:00 it waits for three more, or
for somebody who waits for 1 seat. Then it is on sale for everybody, and Bob buys it at 11:30. At
12:00 four become free: they are Ada's. Had it been one, everybody could have bought it at once.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from peewee import ModelSelect, fn

from ticketing import clock
from ticketing.db.connection import locked, write_transaction
from ticketing.limits import PASSED_OVER_FOR
from ticketing.models.base import UtcDateTimeField
from ticketing.models.events import Event
from ticketing.models.waiting_list import WaitingListEntry
from ticketing.services import event_locks
from ticketing.services.orders import stock
from ticketing.services.waiting_list import candidates

_AT_ONCE = 500

_instant = UtcDateTimeField().python_value


def update(event_id: str, clients: Collection[str]) -> None:
    """Note which entries of an event are passed over now, after what is free was offered.

    `clients`: networks, by digest, that get no offer now.
    """
    for ticket_id, room in candidates.free(event_id):
        _update_type(event_id, ticket_id, room, clients)


def _update_type(event_id: str, ticket_id: str, room: int | None, clients: Collection[str]) -> None:
    waiting, now = candidates.waiting(ticket_id), clock.now()
    is_of_full = candidates.is_of(clients)
    is_passed = is_of_full if room is None else is_of_full | (WaitingListEntry.quantity > room)
    idle = waiting.where(WaitingListEntry.idle_since.is_null(False))
    _change(event_id, ticket_id, idle if room == 0 else idle.where(~is_passed), idle_since=None)
    if room == 0:
        return
    passed = waiting.where(is_passed)
    new = passed.where(WaitingListEntry.passed_over_at.is_null())
    _change(event_id, ticket_id, new, passed_over_at=now)
    earliest: Any = passed.select(fn.MIN(WaitingListEntry.passed_over_at)).scalar()
    since = _instant(earliest)
    is_due = since is not None and since <= now - PASSED_OVER_FOR
    closing = (passed if is_due else waiting.where(is_of_full)).where(
        WaitingListEntry.idle_since.is_null()
    )
    _change(event_id, ticket_id, closing, idle_since=now)


def _change(
    event_id: str,
    ticket_id: str,
    which: ModelSelect[WaitingListEntry],
    **columns: datetime | None,
) -> None:
    """Change a column of entries, some at once, and how many of their ticket type are idle."""
    if not which.exists():
        return
    event = Event.get_by_id(event_id)
    with write_transaction():
        event_locks.keep(event.tenant_id, event_id)
        some = locked(which.order_by(WaitingListEntry.id).limit(_AT_ONCE))
        ids = [each.id for each in some]
        WaitingListEntry.update(columns).where(WaitingListEntry.id.in_(ids)).execute()
        if "idle_since" in columns:
            stock.idle(ticket_id, len(ids) if columns["idle_since"] else -len(ids))
