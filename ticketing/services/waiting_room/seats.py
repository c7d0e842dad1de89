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
    """`left`: how many can be held now, `unsold`: with those that are held. None: unlimited.

    `next_start`: when the sale of further ones starts. None: never. `per_order`: how many of a type
    one order may have, at most.
    """

    left: int | None
    unsold: int | None
    next_start: datetime | None = None
    per_order: int = 1


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
        TicketType.idle,
        TicketType.min_per_order,
        TicketType.max_per_order,
        TicketType.admission,
        TicketType.require_voucher,
        TicketType.hide_without_voucher,
        TicketType.sales_start_at,
        TicketType.sales_end_at,
        TicketType.event,
    ).where(TicketType.event == event_id, TicketType.status == Publication.PUBLISHED)


@Prepared
def _stock_of(event_id: Any) -> ModelSelect[EventStock]:
    return EventStock.select().where(EventStock.event == event_id)


def of_event(event: Event, now: datetime) -> Seats:
    """Return the seats of an event, over all ticket types that the crowd comes for.

    These admit people, and everybody may buy them. If there are none, all ticket types count. What
    somebody on a waiting list waits for is not left for others. Seats that are given back count.
    """
    if event.status != Publication.PUBLISHED or now >= event.over_at:
        return Seats(0, 0)
    published: list[TicketType] = _of_event.rows(event_id=event.id)
    wanted = [each for each in published if _is_for_everybody(each)] or published
    on_sale = [each for each in wanted if _is_on_sale(each, now)]
    free = [each for each in on_sale if not each.is_waited_for]
    left, unsold = _sum(map(_left, free)), _sum(map(_unsold, free))
    pool = sum(each.in_pool for each in free)
    if event.capacity is not None and (stock := _stock_of.first(event_id=event.id)) is not None:
        left = _least(left, stock.available)
        unsold = _least(unsold, stock.capacity - stock.sold)
    starts = [each.sales_start_at for each in wanted if _starts_later(each, now)]
    per_order = max((each.max_per_order for each in free), default=1)
    return Seats(_plus(left, pool), _plus(unsold, pool), min(starts, default=None), per_order)


def _is_for_everybody(each: TicketType) -> bool:
    return bool(each.admission and not each.require_voucher and not each.hide_without_voucher)


def _is_on_sale(each: TicketType, now: datetime) -> bool:
    ends: datetime | None = each.sales_end_at
    return not _starts_later(each, now) and (ends is None or now < ends)


def _starts_later(each: TicketType, now: datetime) -> bool:
    starts: datetime | None = each.sales_start_at
    return starts is not None and starts > now


def _left(each: TicketType) -> int | None:
    return _at_least_an_order(each.available, each)


def _unsold(each: TicketType) -> int | None:
    capacity: int | None = each.capacity
    return _at_least_an_order(None if capacity is None else capacity - each.sold, each)


def _at_least_an_order(number: int | None, each: TicketType) -> int | None:
    """Return 0 instead of a number that is too small for an order."""
    return 0 if number is not None and number < each.min_per_order else number


def _sum(numbers: Iterable[int | None]) -> int | None:
    listed = list(numbers)
    limited = [each for each in listed if each is not None]
    return sum(limited) if len(limited) == len(listed) else None


def _least(one: int | None, other: int) -> int:
    return other if one is None else min(one, other)


def _plus(number: int | None, more: int) -> int | None:
    return None if number is None else number + more
