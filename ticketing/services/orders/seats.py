"""The seats of an order: move all of them in the stock, in the order of locks.

That is: the event's stock, the voucher, then ticket types by id. See settlement.py for the whole
order of locks.

Example: an order has 2 seats of type B and 1 shirt of type A, which is no admission. Its
confirmation moves 2 from held to sold in the event's stock, then 1 of A, then 2 of B.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from peewee import ModelSelect

from ticketing.db.connection import locked
from ticketing.models.admissions import Admission
from ticketing.models.payment_intents import Item, PaymentIntent
from ticketing.models.ticket_types import EventStock, StockCount, TicketType
from ticketing.models.vouchers import Voucher
from ticketing.services.orders import items, stock, vouchers


def lock(
    intents: Sequence[PaymentIntent],
    type_ids: Collection[str] = (),
    voucher_ids: Collection[str] = (),
) -> None:
    """Lock all stock that locked orders can move, and these, one statement for each kind.

    Without that, two workers deadlock: one moves type A and wants B, the other B and wants A. A
    single ticket type needs no lock of its own: one UPDATE after the event's stock moves it.
    Nor does the only order's own voucher: its UPDATE comes before that of the ticket type.
    """
    items.read(intents)
    types = {item.ticket_type_id for intent in intents for item in intent.items} | set(type_ids)
    own = {intent.voucher_id for intent in intents if intent.voucher_id is not None}
    codes = own | set(voucher_ids)
    if len(types) < 2 and (not codes or (codes == own and len(intents) < 2)):
        return
    events = {intent.capped_event for intent in intents if intent.capped_event is not None}
    if events:
        of_events = EventStock.select().where(EventStock.event.in_(events))
        list(locked(of_events.order_by(EventStock.event)))
    if codes:
        list(locked(Voucher.select().where(Voucher.id.in_(codes)).order_by(Voucher.id)))
    list(locked(_types(types)))


def locked_types(intent: PaymentIntent) -> dict[str, TicketType]:
    """Lock an order's stock, and return its ticket types by id."""
    list(locked(EventStock.select().where(EventStock.event == intent.event_id)))
    if intent.voucher_id is not None:
        list(locked(Voucher.select().where(Voucher.id == intent.voucher_id)))
    rows = locked(_types({item.ticket_type_id for item in intent.items}))
    return {each.id: each for each in rows}


def hold_again(intent: PaymentIntent, paid_at: datetime) -> dict[str, TicketType] | None:
    """Hold all seats and usages of an order that had ended, as at `paid_at`.

    Return its ticket types by id, locked. None if too few are left: then nothing is held.
    """
    event_id, counted = _counted(intent)
    usages = _usages(intent)
    if event_id is not None and stock.hold_of_event(event_id, counted) is None:
        return None
    if usages and not vouchers.hold_again(intent.voucher_id or "", usages, paid_at):
        _release_counted(intent)
        return None
    held: dict[str, TicketType] = {}
    for item in _by_type(intent):
        ticket_type = stock.hold(item.ticket_type_id, item.quantity)
        if ticket_type is None:
            _release_shared(intent)
            for other in _by_type(intent):
                if other.ticket_type_id in held:
                    stock.release(other.ticket_type_id, other.quantity)
            return None
        held[ticket_type.id] = ticket_type
    return held


def release(intent: PaymentIntent) -> None:
    """Release what an order holds. StockMoved."""
    if intent.pooled:
        stock.give_up(intent.items[0].ticket_type_id, intent.pooled)
        return
    _release_shared(intent)
    for item in _by_type(intent):
        stock.release(item.ticket_type_id, item.quantity)


def sell(intent: PaymentIntent) -> tuple[list[tuple[Item, StockCount]], Voucher | None]:
    """Sell what an order holds. StockMoved.

    Return each item with what is sold of its type now, and the voucher as it is now, if one is
    used. Seats that replace others count as taken until these are void.
    """
    if intent.pooled:
        return [], None
    event_id, counted = _counted(intent)
    if event_id is not None:
        stock.sell_of_event(event_id, counted)
    usages = _usages(intent)
    voucher = vouchers.redeem(intent.voucher_id or "", usages) if usages else None
    sold = [(item, stock.sell(item.ticket_type_id, item.quantity)) for item in _by_type(intent)]
    return sold, voucher


def take_back(
    admission: Admission, intent: PaymentIntent | None, capped_event: str | None
) -> StockCount:
    """Put the seat of a void admission on sale again, and give its usage of a voucher back.

    `intent` is None for a guest. Return what is sold of its type now. StockMoved.
    """
    if capped_event is not None:
        stock.take_back_of_event(capped_event, 1)
    if intent is not None and intent.voucher_id is not None:
        types = {item.ticket_type_id for item in intent.items if item.vouchered}
        if admission.ticket_type_id in types:
            vouchers.take_back(intent.voucher_id, 1)
    return stock.take_back(admission.ticket_type_id, 1)


def _release_shared(intent: PaymentIntent) -> None:
    """Release what an order holds of its event's capacity and of its voucher."""
    _release_counted(intent)
    usages = _usages(intent)
    if usages:
        vouchers.release(intent.voucher_id or "", usages)


def _release_counted(intent: PaymentIntent) -> None:
    event_id, counted = _counted(intent)
    if event_id is not None:
        stock.release_of_event(event_id, counted)


def _counted(intent: PaymentIntent) -> tuple[str | None, int]:
    """Return the event whose capacity counts seats of an order, and how many. None: no event."""
    counted = sum(item.quantity for item in intent.items if item.admission)
    return (intent.capped_event if counted else None), counted


def _usages(intent: PaymentIntent) -> int:
    """Return how often an order uses its voucher."""
    return sum(item.quantity for item in intent.items if item.vouchered)


def _by_type(intent: PaymentIntent) -> Sequence[Item]:
    return sorted(intent.items, key=lambda item: item.ticket_type_id)


def _types(type_ids: Collection[str]) -> ModelSelect[TicketType]:
    return TicketType.select().where(TicketType.id.in_(type_ids)).order_by(TicketType.id)
