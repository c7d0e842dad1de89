"""The stock of ticket types and events. Each change is one conditional UPDATE with a row count.

An event with a capacity of its own has a row in `event_stock`. It changes before the ticket type.
The parameter `capped_event` is the id of such an event, if the ticket type counts in its capacity.
seats.py moves all seats of an order.

`waiting` counts entries of a waiting list, and `idle` those of them that leave the sale open. While
any other waits for a ticket type, buyers hold nothing of it: only what is held for those who wait
(`for_waiting`) can be. See services/waiting_list.

Example: of 10 seats, 2 are held and 7 sold. Two buyers want 1 each. The first UPDATE makes it 3 and
7. The second one finds 3 + 7 + 1 > 10, changes no row, and its buyer gets SoldOut. When the first
one is paid, `sell` makes it 2 and 8.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Any

from peewee import Field, ModelUpdate, fn

from ticketing import clock
from ticketing.constants import HOLD_UNDER_PRESSURE, Publication
from ticketing.db.connection import locked, write_transaction
from ticketing.limits import RETURNED_WANTED_FOR
from ticketing.models.base import all_but, literal
from ticketing.models.events import Event
from ticketing.models.prepared import Prepared
from ticketing.models.ticket_types import EventStock, StockCount, TicketType

OF_TICKET_TYPE = all_but(
    TicketType.description,
    TicketType.group_heading,
    TicketType.position,
    TicketType.transferable,
    TicketType.allow_waitinglist,
    TicketType.created_at,
    TicketType.updated_at,
)
"""What an order needs of a ticket type: all but what only pages and lists show."""


_WANTED_EVERY = timedelta(minutes=1)

_NOBODY_WAITS = TicketType.waiting <= TicketType.idle


class StockMoved(Exception):
    """The stock is inconsistent: the quantity to move was not held or not sold."""


class _Changes:
    """The changes of one kind of stock, found by the column `key`.

    That of `held` alone returns the columns `ordered`, those of `sold` the columns `counted`.
    `is_open`: the condition under which buyers may hold some. Who waited may always.
    """

    def __init__(
        self,
        stock: type[TicketType | EventStock],
        key: Field[Any],
        ordered: Sequence[Field[Any]],
        counted: Sequence[Field[Any]],
        is_open: Any = True,
    ) -> None:
        def change(of: Any, condition: Any, **columns: Any) -> ModelUpdate:
            return stock.update(columns).where(key == of, condition)

        def is_left(quantity: Any) -> Any:
            return stock.capacity.is_null() | (stock.held + stock.sold + quantity <= stock.capacity)

        def hold_offered(of: Any, quantity: Any) -> ModelUpdate:
            return change(of, is_left(quantity), held=stock.held + quantity).returning(*ordered)

        def hold(of: Any, quantity: Any) -> ModelUpdate:
            return hold_offered(of, quantity).where(is_open)

        def release(of: Any, quantity: Any) -> ModelUpdate:
            return change(of, stock.held >= quantity, held=stock.held - quantity)

        def sell(of: Any, quantity: Any) -> ModelUpdate:
            moved = {"held": stock.held - quantity, "sold": stock.sold + quantity}
            return change(of, stock.held >= quantity, **moved).returning(*counted)

        def admit(of: Any, quantity: Any) -> ModelUpdate:
            sold = stock.sold + quantity
            return change(of, is_left(quantity), sold=sold).returning(*counted)

        def take_back(of: Any, quantity: Any) -> ModelUpdate:
            sold = stock.sold - quantity
            return change(of, stock.sold >= quantity, sold=sold).returning(*counted)

        def wait(of: Any, entries: Any) -> ModelUpdate:
            return change(of, stock.waiting + entries >= 0, waiting=stock.waiting + entries)

        self.hold: Prepared[Any] = Prepared(hold, ordered)
        self.hold_offered: Prepared[Any] = Prepared(hold_offered, ordered)
        self.wait: Prepared[Any] = Prepared(wait)
        self.release: Prepared[Any] = Prepared(release)
        self.sell: Prepared[Any] = Prepared(sell)
        self.admit: Prepared[Any] = Prepared(admit)
        self.take_back: Prepared[Any] = Prepared(take_back)


class _Pool:
    """The changes of the seats that are given back, of a ticket type."""

    def __init__(self) -> None:
        def change(of: Any, *conditions: Any, **columns: Any) -> ModelUpdate:
            return TicketType.update(columns).where(TicketType.id == of, *conditions)

        def take_offered(of: Any, quantity: Any) -> ModelUpdate:
            taken = TicketType.taken + quantity
            is_left = taken <= TicketType.offered
            return change(of, is_left, taken=taken).returning(*OF_TICKET_TYPE)

        def take(of: Any, quantity: Any) -> ModelUpdate:
            return take_offered(of, quantity).where(_NOBODY_WAITS)

        def give_up(of: Any, quantity: Any) -> ModelUpdate:
            is_taken = TicketType.taken >= quantity
            return change(of, is_taken, taken=TicketType.taken - quantity)

        def offer(of: Any) -> ModelUpdate:
            return change(of, offered=TicketType.offered + 1)

        def withdraw(of: Any) -> ModelUpdate:
            is_free = TicketType.taken < TicketType.offered
            return change(of, is_free, offered=TicketType.offered - 1)

        def swap(of: Any, quantity: Any) -> ModelUpdate:
            moved = {"offered": TicketType.offered - quantity, "taken": TicketType.taken - quantity}
            return change(of, TicketType.taken >= quantity, **moved)

        self.take: Prepared[Any] = Prepared(take, OF_TICKET_TYPE)
        self.take_offered: Prepared[Any] = Prepared(take_offered, OF_TICKET_TYPE)
        self.give_up: Prepared[Any] = Prepared(give_up)
        self.offer: Prepared[Any] = Prepared(offer)
        self.withdraw: Prepared[Any] = Prepared(withdraw)
        self.swap: Prepared[Any] = Prepared(swap)


_COUNTED = (TicketType.capacity, TicketType.sold, TicketType.status)

_OF_EVENT = (
    EventStock.event,
    EventStock.capacity,
    EventStock.held,
    EventStock.sold,
    EventStock.waiting,
)


@Prepared
def _idle(of: Any, entries: Any) -> ModelUpdate:
    idle = TicketType.idle + entries
    return TicketType.update(idle=idle).where(TicketType.id == of, idle >= 0)


_ticket_type = _Changes(TicketType, TicketType.id, OF_TICKET_TYPE, _COUNTED, _NOBODY_WAITS)
_pool = _Pool()
_event = _Changes(EventStock, EventStock.event, _OF_EVENT, (EventStock.capacity, EventStock.sold))


def hold(ticket_type_id: str, quantity: int, *, for_waiting: bool = False) -> TicketType | None:
    """Hold `quantity` of a ticket type. Return it with OF_TICKET_TYPE.

    None if fewer are left, or if others wait for them.
    """
    change = _ticket_type.hold_offered if for_waiting else _ticket_type.hold
    ticket_type: TicketType | None = change.first(of=ticket_type_id, quantity=quantity)
    return ticket_type


def hold_of_event(event_id: str, quantity: int, *, for_waiting: bool = False) -> EventStock | None:
    """Hold `quantity` of an event's capacity.

    None if fewer are left, if others wait for them, or if it has no capacity.
    """
    event_stock: EventStock | None = _event.hold.first(of=event_id, quantity=quantity)
    if event_stock is None or for_waiting or not _is_waited_for(event_stock):
        return event_stock
    release_of_event(event_id, quantity)
    return None


def _is_waited_for(event_stock: EventStock) -> bool:
    """Return whether somebody waits for what is left of an event's capacity.

    Not for a ticket type of which nothing is left itself. The event's stock should be locked: then
    no seat becomes free meanwhile.

    Example: an event of 10 is sold out, and Ada waits for the type A, which has no capacity of its
    own. A holder of type B gives back. The seat is Ada's, so nobody can buy it as one of type B.
    """
    if not event_stock.waiting:
        return False
    has_some = TicketType.capacity.is_null() | (
        TicketType.held + TicketType.sold < TicketType.capacity
    )
    waited_for = TicketType.select(TicketType.id).where(
        TicketType.event == event_stock.event_id,
        TicketType.waiting > literal(0),
        ~_NOBODY_WAITS,
        TicketType.status == Publication.PUBLISHED,
        TicketType.admission,
        has_some,
    )
    return bool(waited_for.exists())


def wait(ticket_type_id: str, entries: int, capped_event: str | None) -> None:
    """Count so many more entries that wait for a ticket type, or fewer (below 0). StockMoved."""
    if capped_event is not None and _event.wait.run(of=capped_event, entries=entries) != 1:
        raise _moved(capped_event, -entries)
    if _ticket_type.wait.run(of=ticket_type_id, entries=entries) != 1:
        raise _moved(ticket_type_id, -entries)


def idle(ticket_type_id: str, entries: int) -> None:
    """Count so many more of those who wait as closing the sale to nobody, or fewer. StockMoved."""
    if _idle.run(of=ticket_type_id, entries=entries) != 1:
        raise _moved(ticket_type_id, -entries)


def note_change_of_event(event_id: str) -> None:
    """Let orders that have read an event notice that it changed. Its ticket types are locked."""
    changed = {TicketType.event_changes: TicketType.event_changes + 1}
    TicketType.update(changed).where(TicketType.event == event_id).execute()


def release(ticket_type_id: str, quantity: int) -> None:
    """Release held tickets of a ticket type. StockMoved."""
    _move(_ticket_type.release, ticket_type_id, quantity)


def release_of_event(event_id: str, quantity: int) -> None:
    """Release what is held of an event's capacity. StockMoved."""
    _move(_event.release, event_id, quantity)


def sell(ticket_type_id: str, quantity: int) -> StockCount:
    """Turn held tickets of a ticket type into sold ones. Return what is sold now. StockMoved."""
    return StockCount(*_sold(_ticket_type.sell, ticket_type_id, quantity))


def sell_of_event(event_id: str, quantity: int) -> None:
    """Turn what is held of an event's capacity into sold. StockMoved."""
    _sold(_event.sell, event_id, quantity)


def admit(ticket_type_id: str, quantity: int, capped_event: str | None) -> StockCount | None:
    """Count tickets for guests as sold. Return what is sold now. None if fewer were left.

    Then roll the transaction back: the event's stock may have changed.
    """
    if capped_event is not None and not _event.admit.tuples(of=capped_event, quantity=quantity):
        return None
    admitted = _ticket_type.admit.tuples(of=ticket_type_id, quantity=quantity)
    return StockCount(*admitted[0]) if admitted else None


def take_back(ticket_type_id: str, quantity: int) -> StockCount:
    """Put sold tickets of a ticket type on sale again. Return what is sold now. StockMoved."""
    return StockCount(*_sold(_ticket_type.take_back, ticket_type_id, quantity))


def take_back_of_event(event_id: str, quantity: int) -> None:
    """Put sold tickets of an event's capacity on sale again. StockMoved."""
    _sold(_event.take_back, event_id, quantity)


def is_pool_open(event: Event) -> bool:
    """Return whether seats of an event that are given back can be ordered."""
    # An order of these ends before seats cannot be given back any more.
    return clock.now() < event.returns_end - HOLD_UNDER_PRESSURE


def in_pool(ticket_type: TicketType, event: Event) -> int:
    """Return how many seats that are given back can be ordered now, if nothing else is left."""
    is_closed = ticket_type.is_waited_for or not is_pool_open(event)
    return 0 if is_closed else ticket_type.in_pool


def most_of_pool(ticket_type: TicketType) -> int:
    """Return how many of the seats that are given back one order may have.

    While others want them, too, that is at most half of them, and at least one.

    Example: 4 are given back, and a minute ago an order was refused. One order may have 2.
    """
    is_wanted = clock.is_within(RETURNED_WANTED_FOR, ticket_type.returned_wanted_at)
    return max(1, ticket_type.offered // 2) if is_wanted else int(ticket_type.offered)


def note_wanted(ticket_type_id: str) -> None:
    """Note that an order was refused while seats are given back, at most once in a minute."""
    now = clock.now()
    wanted_at = TicketType.returned_wanted_at
    is_due = (TicketType.id == ticket_type_id) & (TicketType.offered > 0)
    is_due &= wanted_at.is_null() | (wanted_at < now - _WANTED_EVERY)
    # Most refusals come less than a minute after another one: these must not write.
    if TicketType.select().where(is_due).exists():
        with write_transaction():
            TicketType.update(returned_wanted_at=now).where(is_due).execute()


def take(ticket_type_id: str, quantity: int, *, for_waiting: bool = False) -> TicketType | None:
    """Take seats that are given back. Return the type with OF_TICKET_TYPE.

    None if fewer are, or if others wait for them.
    """
    change = _pool.take_offered if for_waiting else _pool.take
    ticket_type: TicketType | None = change.first(of=ticket_type_id, quantity=quantity)
    return ticket_type


def give_up(ticket_type_id: str, quantity: int) -> None:
    """Leave seats that are given back to others. StockMoved."""
    _move(_pool.give_up, ticket_type_id, quantity)


def offer(ticket_type_id: str) -> None:
    """Count one more seat that is given back."""
    _pool.offer.run(of=ticket_type_id)


def withdraw(ticket_type_id: str) -> bool:
    """Count one seat less that is given back. Return whether no order counts on it."""
    return bool(_pool.withdraw.run(of=ticket_type_id))


def swap(ticket_type_id: str, quantity: int) -> None:
    """Count the seats of an order as sold, in the place of those that are given back. StockMoved.

    `sold` does not move: as many seats become void.
    """
    _move(_pool.swap, ticket_type_id, quantity)


def lock_types(ticket_type_ids: Collection[str]) -> None:
    """Lock ticket types by their ids, so that two who change several do not deadlock."""
    types = TicketType.select(TicketType.id).where(TicketType.id.in_(list(ticket_type_ids)))
    list(locked(types.order_by(TicketType.id)))


def of_event(event: Event) -> EventStock | None:
    """Return the stock of an event's own capacity. None: it has no capacity."""
    if event.capacity is None:
        return None
    found: EventStock | None = EventStock.select().where(EventStock.event == event.id).first()
    if found is not None:
        found.is_waited_for = _is_waited_for(found)
    return found


def left_of_event(event: Event) -> int | None:
    """Return how much of an event's own capacity buyers can hold. None: it has no capacity."""
    found = of_event(event)
    return None if found is None else found.buyable


def totals(event_id: str) -> tuple[int, int, int]:
    """Return how many seats of an event are held and sold, and how many entries wait.

    Over all ticket types of admission.
    """
    counts = (TicketType.held, TicketType.sold, TicketType.waiting)
    sums = TicketType.select(*map(fn.SUM, counts))
    held, sold, waiting = sums.where(TicketType.event == event_id, TicketType.admission).tuples()[0]
    return int(held or 0), int(sold or 0), int(waiting or 0)


def _move(change: Prepared[Any], of: str, quantity: int) -> None:
    if change.run(of=of, quantity=quantity) != 1:
        raise _moved(of, quantity)


def _sold(change: Prepared[Any], of: str, quantity: int) -> Sequence[Any]:
    counted = change.tuples(of=of, quantity=quantity)
    if not counted:
        raise _moved(of, quantity)
    row: Sequence[Any] = counted[0]
    return row


def _moved(of: str, quantity: int) -> StockMoved:
    return StockMoved(f"{of} has fewer than {quantity} to move")
