"""The seats of an order: move all of them in the stock, in the order of locks.

That is: the event's stock, then ticket types by id. See settlement.py for the whole order of locks.

Example: an order has 2 seats of type B and 1 shirt of type A, which is no admission. Its
confirmation moves 2 from held to sold in the event's stock, then 1 of A, then 2 of B.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from peewee import ModelSelect

from ticketing.db.connection import locked
from ticketing.models.payment_intents import Item, PaymentIntent
from ticketing.models.ticket_types import EventStock, StockCount, TicketType
from ticketing.services.orders import items, stock


def lock(intents: Sequence[PaymentIntent], type_ids: Collection[str] = ()) -> None:
    """Lock all stock that locked orders can move, and these types, one statement for each kind.

    Without that, two workers deadlock: one moves type A and wants B, the other B and wants A. A
    single ticket type needs no lock of its own: one UPDATE after the event's stock moves it.
    """
    items.read(intents)
    types = {item.ticket_type_id for intent in intents for item in intent.items} | set(type_ids)
    if len(types) < 2:
        return
    events = {intent.capped_event for intent in intents if intent.capped_event is not None}
    if events:
        of_events = EventStock.select().where(EventStock.event.in_(events))
        list(locked(of_events.order_by(EventStock.event)))
    list(locked(_types(types)))


def locked_types(intent: PaymentIntent) -> dict[str, TicketType]:
    """Lock an order's stock, and return its ticket types by id."""
    list(locked(EventStock.select().where(EventStock.event == intent.event_id)))
    rows = locked(_types({item.ticket_type_id for item in intent.items}))
    return {each.id: each for each in rows}


def hold_again(intent: PaymentIntent) -> dict[str, TicketType] | None:
    """Hold all seats of an order that had ended. Return its ticket types by id, locked.

    None if one of them has too few left: then nothing is held.
    """
    event_id, seats = intent.capped_event, _admission_seats(intent)
    if event_id is not None and seats and stock.hold_of_event(event_id, seats) is None:
        return None
    held: dict[str, TicketType] = {}
    for item in _by_type(intent):
        ticket_type = stock.hold(item.ticket_type_id, item.quantity)
        if ticket_type is None:
            if event_id is not None and seats:
                stock.release_of_event(event_id, seats)
            for other in _by_type(intent):
                if other.ticket_type_id in held:
                    stock.release(other.ticket_type_id, other.quantity)
            return None
        held[ticket_type.id] = ticket_type
    return held


def release(intent: PaymentIntent) -> None:
    """Release what an order holds. StockMoved."""
    event_id, seats = intent.capped_event, _admission_seats(intent)
    if event_id is not None and seats:
        stock.release_of_event(event_id, seats)
    for item in _by_type(intent):
        stock.release(item.ticket_type_id, item.quantity)


def sell(intent: PaymentIntent) -> Iterator[tuple[Item, StockCount]]:
    """Sell what an order holds. Yield each item with what is sold of its type now. StockMoved."""
    event_id, seats = intent.capped_event, _admission_seats(intent)
    if event_id is not None and seats:
        stock.sell_of_event(event_id, seats)
    for item in _by_type(intent):
        yield item, stock.sell(item.ticket_type_id, item.quantity)


def _admission_seats(intent: PaymentIntent) -> int:
    """Return the number of seats that count in the event's capacity."""
    return sum(item.quantity for item in intent.items if item.admission)


def _by_type(intent: PaymentIntent) -> Sequence[Item]:
    return sorted(intent.items, key=lambda item: item.ticket_type_id)


def _types(type_ids: Collection[str]) -> ModelSelect[TicketType]:
    return TicketType.select().where(TicketType.id.in_(type_ids)).order_by(TicketType.id)
