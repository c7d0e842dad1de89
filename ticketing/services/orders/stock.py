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

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from peewee import Field, ModelSelect, ModelUpdate, fn

from ticketing import clock
from ticketing.constants import HOLD_UNDER_PRESSURE, Publication
from ticketing.db.connection import locked, write_transaction
from ticketing.limits import RETURNED_WANTED_FOR
from ticketing.models.base import all_but, literal
from ticketing.models.events import Event
from ticketing.models.payment_intents import Item
from ticketing.models.prepared import Prepared
from ticketing.models.ticket_types import EventStock, TicketType
from ticketing.services.notifications import facts
from ticketing.services.notifications.facts import Fact

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


class Move(NamedTuple):
    """How much of one row of a stock an order moves."""

    key: str
    quantity: int


@dataclass(frozen=True)
class Seats:
    """What an order, or a part of it, takes of the stocks.

    `capped_event`: its event, if that has a capacity. `voucher_id`: its voucher.
    """

    items: Sequence[Item]
    capped_event: str | None
    voucher_id: str | None = None


class Stock(ABC):
    """A kind of row with a capacity, of which some is held and some sold. `key` finds a row.

    A change of what is held returns the columns `ordered`, of what is sold the columns `counted`.
    None: all. Each change is one UPDATE. seats.py has all kinds, in the order of their locks.
    """

    def __init__(
        self,
        key: Field[Any],
        capacity: Field[Any],
        held: Field[Any],
        sold: Field[Any],
        ordered: Sequence[Field[Any]] | None = None,
        counted: Sequence[Field[Any]] | None = None,
    ) -> None:
        model = self._model = key.model
        self.key = key

        def change(of: Any, condition: Any, columns: Mapping[Field[Any], Any]) -> ModelUpdate:
            changed: ModelUpdate = model.update(columns).where(key == of, condition)
            return changed

        def is_left(quantity: Any) -> Any:
            return capacity.is_null() | (held + sold + quantity <= capacity)

        def hold_first(of: Any, quantity: Any, at: Any) -> ModelUpdate:
            held_more = change(of, is_left(quantity), {held: held + quantity})
            return held_more.where(*self.usable(at)).returning(*(ordered or [model]))

        def hold(of: Any, quantity: Any, at: Any) -> ModelUpdate:
            return hold_first(of, quantity, at).where(*self.open())

        def release(of: Any, quantity: Any) -> ModelUpdate:
            return change(of, held >= quantity, {held: held - quantity})

        def sell(of: Any, quantity: Any) -> ModelUpdate:
            moved = change(of, held >= quantity, {held: held - quantity, sold: sold + quantity})
            return moved.returning(*(counted or [model]))

        def admit(of: Any, quantity: Any) -> ModelUpdate:
            more = change(of, is_left(quantity), {sold: sold + quantity})
            return more.returning(*(counted or [model]))

        def take_back(of: Any, quantity: Any) -> ModelUpdate:
            fewer = change(of, sold >= quantity, {sold: sold - quantity})
            return fewer.returning(*(counted or [model]))

        self._hold: Prepared[Any] = Prepared(hold, ordered)
        self._hold_first: Prepared[Any] = Prepared(hold_first, ordered)
        self._release: Prepared[Any] = Prepared(release)
        self._sell: Prepared[Any] = Prepared(sell, counted)
        self._admit: Prepared[Any] = Prepared(admit, counted)
        self._take_back: Prepared[Any] = Prepared(take_back, counted)

    @abstractmethod
    def moves(self, of: Seats) -> Sequence[Move]:
        """Return what of its rows these seats take, in the order of their keys."""

    def usable(self, at: Any) -> Sequence[Any]:
        """Return the conditions under which a row can be held at a time."""
        return ()

    def open(self) -> Sequence[Any]:
        """Return the further conditions for an order that does not come first."""
        return ()

    def facts(self, event_id: str, row: Any, more_sold: int) -> Sequence[Fact]:
        """Return what happened when so many more were sold of a row of an event."""
        return ()

    def empty(self, event_id: str) -> Sequence[ModelUpdate]:
        """Return the statements for an event whose seats are all void."""
        return ()

    def hold(self, move: Move, at: datetime, *, first: bool = False) -> Any:
        """Hold some of a row, and return the row, or None if too little is left.

        `at`: when the row must be usable. `first`: also what others wait for.
        """
        change = self._hold_first if first else self._hold
        return change.first(of=move.key, quantity=move.quantity, at=at)

    def release(self, move: Move) -> None:
        """Release what is held. StockMoved."""
        if self._release.run(of=move.key, quantity=move.quantity) != 1:
            raise moved(*move)

    def sell(self, move: Move, event_id: str) -> Sequence[Fact]:
        """Turn what is held into sold. Return what happened. StockMoved."""
        return self.facts(event_id, self._counted(self._sell, move), move.quantity)

    def admit(self, move: Move, event_id: str) -> Sequence[Fact] | None:
        """Count as sold what was not held. Return what happened, or None if too little is left."""
        row = self._admit.first(of=move.key, quantity=move.quantity)
        return None if row is None else self.facts(event_id, row, move.quantity)

    def take_back(self, move: Move, event_id: str) -> Sequence[Fact]:
        """Put what is sold on sale again. Return what happened. StockMoved."""
        return self.facts(event_id, self._counted(self._take_back, move), -move.quantity)

    def lock(self, keys: Collection[str]) -> Sequence[Any]:
        """Lock rows in the order of their keys, and return them."""
        return self._locked(self.key.in_(list(keys))) if keys else ()

    def lock_of(self, events: ModelSelect[Any]) -> None:
        """Lock all rows of events that an order can move, in the order of their keys."""
        self._locked(self._model.event.in_(events))

    def _locked(self, condition: Any) -> list[Any]:
        return list(locked(self._model.select().where(condition).order_by(self.key)))

    def _counted(self, change: Prepared[Any], move: Move) -> Any:
        row = change.first(of=move.key, quantity=move.quantity)
        if row is None:
            raise moved(*move)
        return row


class _OfTypes(Stock):
    """The seats of ticket types."""

    def __init__(self) -> None:
        columns = TicketType.capacity, TicketType.held, TicketType.sold
        counted = (TicketType.capacity, TicketType.sold, TicketType.status, TicketType.id)
        super().__init__(TicketType.id, *columns, OF_TICKET_TYPE, counted)

    def moves(self, of: Seats) -> Sequence[Move]:
        """Return the seats of each ticket type."""
        return sorted(Move(item.ticket_type_id, item.quantity) for item in of.items)

    def open(self) -> Sequence[Any]:
        """Return that nobody waits."""
        return (_NOBODY_WAITS,)

    def facts(self, event_id: str, row: TicketType, more_sold: int) -> Sequence[Fact]:
        """Return that the ticket type is sold out, or available again."""
        return facts.stock_changed(event_id, row.id, row.count.before(more_sold), row.count)

    def empty(self, event_id: str) -> Sequence[ModelUpdate]:
        """Return that none is sold, and none given back."""
        emptied = {"sold": 0, "offered": 0, "taken": 0}
        return (TicketType.update(emptied).where(TicketType.event == event_id),)


class _OfEvents(Stock):
    """The seats of events that have a capacity of their own."""

    def __init__(self) -> None:
        columns = EventStock.capacity, EventStock.held, EventStock.sold
        super().__init__(EventStock.event, *columns, counted=(EventStock.event, EventStock.sold))

    def moves(self, of: Seats) -> Sequence[Move]:
        """Return the seats of admission."""
        counted = sum(item.quantity for item in of.items if item.admission)
        return (Move(of.capped_event, counted),) if of.capped_event is not None and counted else ()

    def hold(self, move: Move, at: datetime, *, first: bool = False) -> EventStock | None:
        """Hold some of an event's capacity, unless somebody waits for what is left of it."""
        row: EventStock | None = super().hold(move, at, first=first)
        if row is None or first or not _is_waited_for(row):
            return row
        self.release(move)
        return None

    def empty(self, event_id: str) -> Sequence[ModelUpdate]:
        """Return that none is sold."""
        return (EventStock.update(sold=0).where(EventStock.event == event_id),)


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


@Prepared
def _wait_for_type(of: Any, entries: Any) -> ModelUpdate:
    waiting = TicketType.waiting + entries
    return TicketType.update(waiting=waiting).where(TicketType.id == of, waiting >= 0)


@Prepared
def _wait_for_event(of: Any, entries: Any) -> ModelUpdate:
    waiting = EventStock.waiting + entries
    return EventStock.update(waiting=waiting).where(EventStock.event == of, waiting >= 0)


@Prepared
def _idle(of: Any, entries: Any) -> ModelUpdate:
    idle = TicketType.idle + entries
    return TicketType.update(idle=idle).where(TicketType.id == of, idle >= 0)


TYPES, EVENTS = _OfTypes(), _OfEvents()
_pool = _Pool()


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
    if capped_event is not None and _wait_for_event.run(of=capped_event, entries=entries) != 1:
        raise moved(capped_event, -entries)
    if _wait_for_type.run(of=ticket_type_id, entries=entries) != 1:
        raise moved(ticket_type_id, -entries)


def idle(ticket_type_id: str, entries: int) -> None:
    """Count so many more of those who wait as closing the sale to nobody, or fewer. StockMoved."""
    if _idle.run(of=ticket_type_id, entries=entries) != 1:
        raise moved(ticket_type_id, -entries)


def note_change_of_event(event_id: str) -> None:
    """Let orders that have read an event notice that it changed. Its ticket types are locked."""
    changed = {TicketType.event_changes: TicketType.event_changes + 1}
    TicketType.update(changed).where(TicketType.event == event_id).execute()


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
        raise moved(of, quantity)


def moved(of: str, quantity: int) -> StockMoved:
    """Return the error that less than this can be moved."""
    return StockMoved(f"{of} has fewer than {quantity} to move")
