"""How many seats of an event could be ordered now, for the pace of its waiting room."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from peewee import ModelSelect

from ticketing.constants import Publication
from ticketing.models.events import Event
from ticketing.models.prepared import Prepared
from ticketing.models.ticket_types import EventStock, TicketType


class Seats(NamedTuple):
    """`left`: how many can be held now, `unsold`: with those that are held. None: unlimited."""

    left: int | None
    unsold: int | None


@Prepared
def _of_event(event_id: Any) -> ModelSelect[TicketType]:
    return TicketType.select(
        TicketType.id,
        TicketType.capacity,
        TicketType.held,
        TicketType.sold,
        TicketType.offered,
        TicketType.taken,
        TicketType.waiting,
        TicketType.sales_start_at,
        TicketType.sales_end_at,
        TicketType.event,
    ).where(TicketType.event == event_id, TicketType.status == Publication.PUBLISHED)


@Prepared
def _stock_of(event_id: Any) -> ModelSelect[EventStock]:
    return EventStock.select().where(EventStock.event == event_id)


def of_event(event: Event, now: datetime) -> Seats:
    """Return the seats of an event, over all ticket types that are on sale now.

    Seats that are given back count. Nothing is left if the event is not on sale.
    """
    if event.status != Publication.PUBLISHED or now >= event.over_at:
        return Seats(0, 0)
    published: list[TicketType] = _of_event.rows(event_id=event.id)
    on_sale = [each for each in published if _is_on_sale(each, now)]
    left = _sum(0 if each.waiting else each.available for each in on_sale)
    unsold = _sum(map(_unsold, on_sale))
    pool = sum(each.in_pool for each in on_sale if not each.waiting)
    if event.capacity is not None and (stock := _stock_of.first(event_id=event.id)) is not None:
        left = _least(left, stock.available)
        unsold = _least(unsold, stock.capacity - stock.sold)
    return Seats(_plus(left, pool), _plus(unsold, pool))


def _unsold(ticket_type: TicketType) -> int | None:
    capacity: int | None = ticket_type.capacity
    return None if capacity is None else capacity - ticket_type.sold


def _is_on_sale(ticket_type: TicketType, now: datetime) -> bool:
    starts, ends = ticket_type.sales_start_at, ticket_type.sales_end_at
    return (starts is None or starts <= now) and (ends is None or now < ends)


def _sum(numbers: Iterable[int | None]) -> int | None:
    listed = list(numbers)
    limited = [each for each in listed if each is not None]
    return sum(limited) if len(limited) == len(listed) else None


def _least(one: int | None, other: int) -> int:
    return other if one is None else min(one, other)


def _plus(number: int | None, more: int) -> int | None:
    return None if number is None else number + more
