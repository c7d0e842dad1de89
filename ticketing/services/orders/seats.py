"""The seats of an order: move all of them in the stocks, in the order of locks.

That is: the event's stock, the voucher, then ticket types by id. db/locks.py has the whole order.

Example: an order has 2 seats of type B and 1 shirt of type A, which is no admission. Its
confirmation moves 2 from held to sold in the event's stock, then 1 of A, then 2 of B.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from ticketing.models.admissions import Admission
from ticketing.models.payment_intents import Item, PaymentIntent
from ticketing.models.ticket_types import TicketType
from ticketing.services.notifications.facts import Fact
from ticketing.services.orders import items, stock, vouchers
from ticketing.services.orders.stock import Move, Seats, Stock

STOCKS: Sequence[Stock] = (stock.EVENTS, vouchers.USAGES, stock.TYPES)
"""All kinds of stock, in the order of their locks."""


class Missing(NamedTuple):
    """Which stock has not enough left for an order, and of which row."""

    stock: Stock
    move: Move


def moves(of: Seats) -> Iterator[tuple[Stock, Move]]:
    """Yield what seats take of each stock, in the order of locks."""
    return ((each, move) for each in STOCKS for move in each.moves(of))


def of_intent(intent: PaymentIntent) -> Seats:
    """Return what a locked order takes of the stocks."""
    return Seats(intent.items, intent.capped_event, intent.voucher_id)


def lock(intents: Sequence[PaymentIntent], also: Sequence[Seats] = ()) -> None:
    """Lock all stock that locked orders can move, and that of `also`, one statement for each kind.

    Without that, two workers deadlock: one moves type A and wants B, the other B and wants A. A
    single ticket type needs no lock of its own: one UPDATE after the event's stock moves it.
    Nor does the only order's own voucher: its UPDATE comes before that of the ticket type.
    """
    items.read(intents)
    own = [of_intent(intent) for intent in intents]
    keys = {each: _keys(each, [*own, *also]) for each in STOCKS}
    codes = keys[vouchers.USAGES]
    is_only = len(intents) < 2 and codes == _keys(vouchers.USAGES, own)
    if len(keys[stock.TYPES]) < 2 and (not codes or is_only):
        return
    for each in STOCKS:
        each.lock(keys[each])


def locked_types(intent: PaymentIntent) -> Mapping[str, TicketType]:
    """Lock an order's stock, and return its ticket types by id."""
    rows = {each: each.lock(_keys(each, [of_intent(intent)])) for each in STOCKS}
    return {each.id: each for each in rows[stock.TYPES]}


def hold(of: Seats, at: datetime, *, first: bool = False) -> dict[str, Any] | Missing:
    """Hold all of it, and return the rows by their keys. What is missing: then nothing is held.

    `at` and `first` as in `Stock.hold`.
    """
    held: dict[str, Any] = {}
    done: list[tuple[Stock, Move]] = []
    for each, move in moves(of):
        row = each.hold(move, at, first=first)
        if row is None:
            for other, before in reversed(done):
                other.release(before)
            return Missing(each, move)
        held[move.key] = row
        done.append((each, move))
    return held


def release(intent: PaymentIntent) -> None:
    """Release what an order holds. StockMoved."""
    if intent.pooled:
        stock.give_up(intent.items[0].ticket_type_id, intent.pooled)
        return
    for each, move in moves(of_intent(intent)):
        each.release(move)


def sell(intent: PaymentIntent) -> list[Fact]:
    """Sell what an order holds, and return what happened. StockMoved.

    Seats that replace others count as taken until these are void.
    """
    if intent.pooled:
        return []
    sold = (each.sell(move, intent.event_id) for each, move in moves(of_intent(intent)))
    return [fact for happened in sold for fact in happened]


def admit(ticket_type: TicketType, quantity: int, capped_event: str | None) -> list[Fact] | None:
    """Count seats for guests as sold, and return what happened. None if fewer were left.

    Then roll the transaction back: the event's stock may have changed.
    """
    found: list[Fact] = []
    item = Item(ticket_type.id, quantity, 0, 0, ticket_type.admission, False)
    for each, move in moves(Seats([item], capped_event)):
        happened = each.admit(move, ticket_type.event_id)
        if happened is None:
            return None
        found += happened
    return found


def take_back(
    admission: Admission, intent: PaymentIntent | None, capped_event: str | None
) -> list[Fact]:
    """Put the seat of a void admission on sale again, and give its usage of a voucher back.

    `intent` is None for a guest. Return what happened. StockMoved.
    """
    ticket_type_id = admission.ticket_type_id
    of_order = () if intent is None else intent.items
    is_vouchered = any(each.vouchered for each in of_order if each.ticket_type_id == ticket_type_id)
    seat = Item(ticket_type_id, 1, 0, 0, capped_event is not None, is_vouchered)
    of = Seats([seat], capped_event, None if intent is None else intent.voucher_id)
    back = (each.take_back(move, admission.event_id) for each, move in moves(of))
    return [fact for happened in back for fact in happened]


def _keys(of: Stock, every: Sequence[Seats]) -> set[str]:
    return {move.key for each in every for move in of.moves(each)}
