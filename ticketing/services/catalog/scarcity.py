"""What the public learns when little is left: few, held by unpaid orders, or sold out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from peewee import ModelSelect

from ticketing.constants import FEW_LEFT, FEW_LEFT_PERCENT, IntentStatus
from ticketing.models.base import UtcDateTimeField, literal
from ticketing.models.items import has_item_of
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.ticket_types import EventStock, TicketType

LOOK_AGAIN = timedelta(minutes=1)
"""How long `held_until` may be shown. What it depends on is not in the version of a response."""

_instant = UtcDateTimeField().python_value


def few_left(ticket_type: TicketType, event_stock: EventStock | None) -> int | None:
    """Return how many are left, if they are few. None: there are many, or there is no end.

    `event_stock`: what is left of the event's own capacity. None: it has none.

    Example: 10 of 50 are few, 10 of 49 and 11 of 500 are not.
    """
    stocks = [each for each in _stocks(ticket_type, event_stock) if each.available is not None]
    if not stocks:
        return None
    least = min(stocks, key=lambda each: int(each.available or 0))
    left, capacity = int(least.available or 0), int(least.capacity or 0)
    if left == 0:
        left = ticket_type.in_pool
    return left if left <= FEW_LEFT and 100 * left <= FEW_LEFT_PERCENT * capacity else None


def is_held(ticket_type: TicketType, event_stock: EventStock | None) -> bool:
    """Return whether one could buy this ticket type, if no order that is not complete held any.

    Not if others wait for what these orders leave.
    """
    stocks = _stocks(ticket_type, event_stock)
    if any(each.is_waited_for for each in stocks):
        return False
    return all(
        each.capacity is None or each.capacity - each.sold >= ticket_type.min_per_order
        for each in stocks
    )


def add_held_until(held: Sequence[TicketType], event_id: str, now: datetime) -> None:
    """Set `held_until` on ticket types of an event that are held: when the first order may end.

    None if no order that holds them waits for a payment. Of a ticket type that has enough left
    itself, all orders of the event count: its event is full. Runs one query, or none.
    """
    if not held:
        return
    own = [each.id for each in held if not _has_enough(each)]
    of_types = dict(_first_ends(own, event_id, now).tuples()) if own else {}
    of_event = _first_end(event_id, now).scalar() if len(own) < len(held) else None
    for each in held:
        end = of_types.get(each.id) if each.id in own else of_event
        each.held_until = _instant(end)


def _has_enough(ticket_type: TicketType) -> bool:
    left = ticket_type.available
    return left is None or left >= ticket_type.min_per_order


def _stocks(
    ticket_type: TicketType, event_stock: EventStock | None
) -> list[TicketType | EventStock]:
    if event_stock is None or not ticket_type.admission:
        return [ticket_type]
    return [ticket_type, event_stock]


def _first_end(event_id: str, now: datetime) -> ModelSelect[Any]:
    """Select the next end of an unpaid order of an event. An index has them in this order."""
    is_unpaid = PaymentIntent.status == literal(IntentStatus.AWAITING_PAYMENT)
    return (
        PaymentIntent.select(PaymentIntent.expires_at)
        .where(PaymentIntent.event == event_id, is_unpaid, PaymentIntent.expires_at > now)
        .order_by(PaymentIntent.expires_at)
        .limit(1)
    )


def _first_ends(ticket_ids: Sequence[str], event_id: str, now: datetime) -> ModelSelect[Any]:
    """Select ids of ticket types, and the next end of an unpaid order of each."""
    first_end = _first_end(event_id, now).where(has_item_of(TicketType.id))
    return TicketType.select(TicketType.id, first_end).where(TicketType.id.in_(ticket_ids))
