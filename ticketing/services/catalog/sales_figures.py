"""What was sold: orders per day, and the figures of each event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from peewee import SQL, ModelSelect, fn

from ticketing import clock
from ticketing.constants import IntentStatus, Publication
from ticketing.db.connection import is_sqlite
from ticketing.errors import NotFound
from ticketing.models.admissions import Admission
from ticketing.models.base import literal
from ticketing.models.events import Event
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.prepared import Prepared
from ticketing.models.ticket_types import TicketType
from ticketing.services.catalog import events
from ticketing.services.pagination import Page, PageRequest, paginate

MOST_DAYS = 366
_SLOT_SECONDS = 900
"""The offset of every time zone is a whole number of these, so a slot lies in one day of each."""

_IS_SOLD = PaymentIntent.status == literal(IntentStatus.CONFIRMED)
_SUMS = (fn.COUNT(SQL("*")), fn.SUM(PaymentIntent.quantity), fn.SUM(PaymentIntent.amount))


@dataclass(frozen=True)
class SalesOfDay:
    """The orders that were confirmed on one day, their tickets and their price in micro-units."""

    day: date
    orders: int
    tickets: int
    amount: int


@dataclass(frozen=True)
class EventFigures:
    """An event with its tickets held, sold and free (None: unlimited), and who entered.

    `orders` and `amount`: the confirmed orders, and their price in micro-units.
    """

    event: Event
    held: int
    sold: int
    free: int | None
    redeemed: int
    orders: int
    amount: int


def _in_slots(of_events: Any, since: Any) -> ModelSelect[PaymentIntent]:
    """Select the sums of confirmed orders, by the time of their confirmation in slots."""
    at = PaymentIntent.confirmed_at
    slot: Any
    if is_sqlite():
        # Without its fraction, which SQLite would round.
        slot = fn.STRFTIME("%s", fn.SUBSTR(at, 1, 19)).cast("INTEGER") / _SLOT_SECONDS
    else:
        slot = fn.FLOOR(fn.DATE_PART("epoch", at) / _SLOT_SECONDS)
    return (
        PaymentIntent.select(slot.alias("slot"), *_SUMS)
        .where(_IS_SOLD, of_events, PaymentIntent.confirmed_at >= since)
        .group_by(SQL("slot"))
    )


@Prepared
def _sold_of_event(event_id: Any, since: Any) -> ModelSelect[PaymentIntent]:
    return _in_slots(PaymentIntent.event == event_id, since)


@Prepared
def _sold_of_tenant(tenant_id: Any, since: Any) -> ModelSelect[PaymentIntent]:
    own = Event.select(Event.id).where(Event.tenant == tenant_id)
    return _in_slots(PaymentIntent.event.in_(own), since)


def by_day(tenant_id: str, event_id: str | None, last: int = MOST_DAYS) -> list[SalesOfDay]:
    """Return the sales of each of the last days on which something was sold.

    The days are those of the event's time zone, or of UTC for all events. An unknown event has no
    sales.
    """
    zone: tzinfo = UTC
    if event_id is not None:
        try:
            zone = ZoneInfo(events.get(tenant_id, event_id).timezone)
        except NotFound:
            return []
    first = clock.now().astimezone(zone).date() - timedelta(days=last - 1)
    since = datetime.combine(first, time(), zone)
    if event_id is None:
        slots = _sold_of_tenant.tuples(tenant_id=tenant_id, since=since)
    else:
        slots = _sold_of_event.tuples(event_id=event_id, since=since)
    days: dict[date, tuple[int, int, int]] = {}
    for slot, *counted in slots:
        day = datetime.fromtimestamp(int(slot) * _SLOT_SECONDS, zone).date()
        orders, tickets, amount = days.get(day, (0, 0, 0))
        days[day] = orders + int(counted[0]), tickets + int(counted[1]), amount + int(counted[2])
    return [SalesOfDay(day, *days[day]) for day in sorted(days)]


def overview(tenant_id: str, page: PageRequest) -> Page[EventFigures]:
    """Return a page of a tenant's events with their figures, the latest start first."""
    found = paginate(
        Event.select().where(Event.tenant == tenant_id),
        [Event.start_at, Event.id],
        page,
        scope=f"overview {tenant_id}",
        descending=True,
    )
    return Page(_of_events(found.data), found.next_cursor)


def of_event(event: Event) -> EventFigures:
    """Return the figures of one event."""
    (figures,) = _of_events([event])
    return figures


def _of_events(found: Sequence[Event]) -> list[EventFigures]:
    event_ids = [event.id for event in found]
    types, sums, redeemed = _types(event_ids), _sums(event_ids), _redeemed(event_ids)
    return [
        _figures(event, types[event.id], sums.get(event.id, (0, 0)), redeemed.get(event.id, 0))
        for event in found
    ]


def _types(event_ids: Sequence[str]) -> Mapping[str, list[TicketType]]:
    found: dict[str, list[TicketType]] = {event_id: [] for event_id in event_ids}
    for each in TicketType.select().where(TicketType.event.in_(event_ids)):
        found[each.event_id].append(each)
    return found


def _sums(event_ids: Sequence[str]) -> Mapping[str, tuple[int, int]]:
    """Return the number of confirmed orders of each event, and their price."""
    query = (
        PaymentIntent.select(PaymentIntent.event, *_SUMS)
        .where(_IS_SOLD, PaymentIntent.event.in_(event_ids))
        .group_by(PaymentIntent.event)
    )
    rows: Any = query.tuples()
    return {event_id: (int(orders), int(amount)) for event_id, orders, _, amount in rows}


def _redeemed(event_ids: Sequence[str]) -> Mapping[str, int]:
    """Return how many admissions of each event were used to enter."""
    query = (
        Admission.select(Admission.event, fn.COUNT(Admission.id))
        .where(Admission.event.in_(event_ids), Admission.redeemed_at.is_null(False))
        .group_by(Admission.event)
    )
    rows: Any = query.tuples()
    return dict(rows)


def _figures(
    event: Event, types: Sequence[TicketType], sums: tuple[int, int], redeemed: int
) -> EventFigures:
    held, sold = sum(each.held for each in types), sum(each.sold for each in types)
    left = [each.available for each in types if each.status == Publication.PUBLISHED]
    limits = [] if None in left else [sum(each for each in left if each is not None)]
    if event.capacity is not None:
        limits.append(event.capacity - held - sold)
    orders, amount = sums
    return EventFigures(event, held, sold, min(limits, default=None), redeemed, orders, amount)
