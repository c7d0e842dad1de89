"""The rules 1 to 3 of reconciliation.py: stock, and the admissions of orders."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from peewee import JOIN, Case, Field, fn

from ticketing.constants import LIVE, SOLD, AdmissionStatus, IntentStatus
from ticketing.models.admissions import Admission
from ticketing.models.base import literal
from ticketing.models.events import Event
from ticketing.models.items import IntentItem, has_item_of
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.ticket_types import EventStock, TicketType
from ticketing.models.waiting_list import WaitingListEntry
from ticketing.services.payments.rule_scope import Rows, Scope, first, total
from ticketing.waiting_list import EntryStatus


def is_doubtful_ticket_type() -> Any:
    """Return the SQL condition that finds ticket types that may violate a rule."""
    held, sold = _ordered(), _admitted()
    pool = (TicketType.taken != _pooled()) | (TicketType.offered != _given_back())
    return (
        _OUT_OF_BOUNDS
        | (TicketType.held != held)
        | (TicketType.sold != sold)
        | pool
        | (TicketType.waiting != _waiting())
        | (TicketType.idle != _idle())
    )


def is_doubtful_intent() -> Any:
    """Return the SQL condition that finds intents that may violate a rule of this file."""
    misfits = fn.SUM(Case(None, [(_FITS, 0)], 1))
    # Count a status instead of an id: it is in the index, so no table row is read.
    seats = Case(None, [(misfits > 0, -1)], fn.COUNT(Admission.status))
    issued = Admission.select(seats).where(Admission.intent == PaymentIntent.id)
    return _UNMARKED | (issued != _SEATS_DUE) | _items_differ()


# 1. No more is held and sold than there is.

_OUT_OF_BOUNDS = (
    (TicketType.held < 0)
    | (TicketType.sold < 0)
    | (TicketType.held + TicketType.sold > TicketType.capacity)
)


def stock_within_capacity(scope: Scope) -> Rows:
    """No more is held and sold than the capacity, and neither is negative."""
    held, sold, capacity = TicketType.held, TicketType.sold, TicketType.capacity
    query = TicketType.select(TicketType.id, held, sold, capacity).where(_OUT_OF_BOUNDS)
    for ticket_type, *numbers in first(query, TicketType, scope):
        yield [ticket_type], "{} are held and {} sold of {}".format(*numbers)


# 2. What is held and sold is what orders hold and admissions fill.


def held_is_live(scope: Scope) -> Rows:
    """What is held is what live intents hold."""
    for ticket_type, held, live in _stock_differs(TicketType.held, _ordered(), scope):
        yield [ticket_type], f"{held} are held, but live intents hold {live}"


def sold_is_admitted(scope: Scope) -> Rows:
    """What is sold is the number of admissions that are not void, guests included."""
    for ticket_type, sold, admitted in _stock_differs(TicketType.sold, _admitted(), scope):
        yield [ticket_type], f"{sold} are sold, but {admitted} admissions are valid or suspended"


def pool_agrees(scope: Scope) -> Rows:
    """What is given back is what admissions say, and what is taken of it is what orders say."""
    for ticket_type, taken, pooled in _stock_differs(TicketType.taken, _pooled(), scope):
        yield [ticket_type], f"{taken} are taken, but orders want {pooled} in place of others"
    for ticket_type, offered, back in _stock_differs(TicketType.offered, _given_back(), scope):
        yield [ticket_type], f"{offered} are offered, but {back} admissions are given back"


def waiting_agrees(scope: Scope) -> Rows:
    """What waits is the number of entries of the waiting list that do."""
    for ticket_type, waiting, entries in _stock_differs(TicketType.waiting, _waiting(), scope):
        yield [ticket_type], f"{waiting} wait, but the waiting list has {entries} who do"


def idle_agrees(scope: Scope) -> Rows:
    """As many of those who wait leave the sale open as the waiting list says."""
    for ticket_type, idle, entries in _stock_differs(TicketType.idle, _idle(), scope):
        yield [ticket_type], f"{idle} who wait leave the sale open, {entries} by the waiting list"


def event_stock_agrees(scope: Scope) -> Rows:
    """An event has its own stock exactly if it has a capacity: the sums of its ticket types.

    Rule 1 is checked here too: the event's capacity limits these sums.
    """
    held, sold = _sum(TicketType.held), _sum(TicketType.sold)
    waiting = _sum(TicketType.waiting)
    disagrees = (
        (EventStock.capacity != Event.capacity)
        | EventStock.capacity.is_null()
        | Event.capacity.is_null()
        | (EventStock.held != held)
        | (EventStock.sold != sold)
        | (EventStock.waiting != waiting)
        | (EventStock.held + EventStock.sold > EventStock.capacity)
    )
    counted = (EventStock.capacity, EventStock.held, EventStock.sold, EventStock.waiting)
    query = (
        Event.select(Event.id, *counted, Event.capacity, held, sold, waiting)
        .join(EventStock, JOIN.LEFT_OUTER, on=(EventStock.event == Event.id))
        .where(Event.capacity.is_null(False) | EventStock.capacity.is_null(False), disagrees)
    )
    for event, *numbers in first(query, Event, scope):
        yield (
            [event],
            "its own stock of {} has {} held, {} sold and {} waiting,"
            " the event of {} has {}, {} and {}".format(*numbers),
        )


def _stock_differs(column: Field[Any], expected: Any, scope: Scope) -> Iterable[Any]:
    query = TicketType.select(TicketType.id, column, expected).where(column != expected)
    return first(query, TicketType, scope)


def _ordered() -> Any:
    """Return the SQL sum of a ticket type's seats in live intents, without those of the pool."""
    is_live = PaymentIntent.status.in_(LIVE) & (PaymentIntent.pooled == 0)
    of_items = (
        IntentItem.select(fn.SUM(IntentItem.quantity))
        .join(PaymentIntent)
        .where(IntentItem.ticket_type == TicketType.id, is_live)
    )
    return fn.COALESCE(of_items, 0)


def _admitted() -> Any:
    """Return the SQL count of a ticket type's admissions that are not void.

    Without those that replace others which are still counted.
    """
    seats = (AdmissionStatus.VALID, AdmissionStatus.SUSPENDED)
    admitted = Admission.select(fn.COUNT(Admission.status)).where(
        Admission.ticket_type == TicketType.id, Admission.status.in_(seats)
    )
    return fn.COALESCE(admitted, 0) - _pooled(SOLD)


def _pooled(statuses: Collection[IntentStatus] = (*LIVE, *SOLD)) -> Any:
    """Return the SQL sum of the seats of a ticket type that orders want in place of others."""
    wanted = PaymentIntent.select(fn.SUM(PaymentIntent.pooled)).where(
        PaymentIntent.pooled > 0,
        PaymentIntent.status.in_(statuses),
        has_item_of(TicketType.id),
    )
    return fn.COALESCE(wanted, 0)


def _given_back() -> Any:
    """Return the SQL count of a ticket type's admissions that are given back."""
    return Admission.select(fn.COUNT(Admission.id)).where(
        Admission.ticket_type == TicketType.id, Admission.returned_at.is_null(False)
    )


def _waiting() -> Any:
    """Return the SQL count of the entries that wait for a ticket type."""
    return WaitingListEntry.select(fn.COUNT(WaitingListEntry.id)).where(
        WaitingListEntry.ticket_type == TicketType.id,
        WaitingListEntry.status == literal(EntryStatus.WAITING),
    )


def _idle() -> Any:
    """Return the SQL count of the entries that wait for a ticket type, and leave its sale open."""
    return _waiting().where(WaitingListEntry.idle_since.is_null(False))


def _sum(column: Field[Any]) -> Any:
    """Return the SQL sum of a column over the ticket types of admission of an event."""
    of_event = (TicketType.event == Event.id) & TicketType.admission
    return fn.COALESCE(TicketType.select(fn.SUM(column).cast("BIGINT")).where(of_event), 0)


# 3. An order has admissions once it was confirmed, and they are valid while it is.

_CONFIRMED = PaymentIntent.status == IntentStatus.CONFIRMED
_SEATS_DUE = Case(None, [(PaymentIntent.confirmed_at.is_null(), 0)], PaymentIntent.quantity)
_UNMARKED = PaymentIntent.status.in_(SOLD) & PaymentIntent.confirmed_at.is_null()
_ADMISSION_STATUS = Case(None, [(_CONFIRMED, AdmissionStatus.VALID)], AdmissionStatus.SUSPENDED)
_FITS = (Admission.status == _ADMISSION_STATUS) | (Admission.status == AdmissionStatus.VOID)


_PRICE = IntentItem.unit_amount * IntentItem.quantity
_SEATS = Admission.select(fn.COUNT(Admission.id)).where(
    Admission.intent == IntentItem.intent,
    Admission.ticket_type == IntentItem.ticket_type,
    Admission.amount == IntentItem.unit_amount,
)
_MISFIT = Case(
    None, [(PaymentIntent.confirmed_at.is_null() | (IntentItem.quantity == _SEATS), 0)], 1
)
"""1 for an item of a sold intent whose admissions are not as many, or not at its price."""


def items_add_up(scope: Scope) -> Rows:
    """An intent has the quantities and prices of its items, and admissions of each once sold."""
    quantity, amount = total(IntentItem.quantity), total(_PRICE)
    query = (
        PaymentIntent.select(
            PaymentIntent.id, PaymentIntent.quantity, PaymentIntent.amount, quantity, amount
        )
        .join(IntentItem, JOIN.LEFT_OUTER, on=(IntentItem.intent == PaymentIntent.id))
        .group_by(PaymentIntent.id)
        .having(
            (quantity != PaymentIntent.quantity)
            | (amount != PaymentIntent.amount)
            | (total(_MISFIT) > 0)
        )
    )
    for intent, *numbers in first(query, PaymentIntent, scope):
        yield (
            [intent],
            "an intent of {} seats for {} has items of {} for {},"
            " or not the admissions of each".format(*numbers),
        )


def _items_differ() -> Any:
    """Return the SQL condition that an intent's items are not what the intent says."""
    of_it = IntentItem.intent == PaymentIntent.id
    differs = (total(IntentItem.quantity) != PaymentIntent.quantity) | (
        total(_PRICE) != PaymentIntent.amount
    )
    wrong = IntentItem.select(Case(None, [(differs | (total(_MISFIT) > 0), 1)], 0)).where(of_it)
    # Without any item, there is no row.
    return fn.COALESCE(wrong, 1) == 1


def admissions_match(scope: Scope) -> Rows:
    """An intent has as many admissions as its quantity, once it was confirmed."""
    issued = fn.COUNT(Admission.id)
    query = (
        PaymentIntent.select(PaymentIntent.id, PaymentIntent.status, issued, _SEATS_DUE)
        .join(Admission, JOIN.LEFT_OUTER, on=(Admission.intent == PaymentIntent.id))
        .group_by(PaymentIntent.id)
        .having((issued != _SEATS_DUE) | _UNMARKED)
    )
    for intent, status, count, due in first(query, PaymentIntent, scope):
        yield [intent], f"a {status} intent has {count} admissions, {due} by its confirmed_at"


def admissions_valid_while_confirmed(scope: Scope) -> Rows:
    """Admissions are valid while their intent is confirmed, else suspended; or they are void."""
    query = (
        Admission.select(Admission.id, Admission.status, PaymentIntent.id, PaymentIntent.status)
        .join(PaymentIntent)
        .where(~_FITS)
    )
    for admission, status, intent, intent_status in first(query, PaymentIntent, scope):
        yield [admission, intent], f"the admission is {status}, its intent {intent_status}"
