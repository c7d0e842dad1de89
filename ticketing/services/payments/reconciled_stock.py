"""The rules of a reconciliation for stock: of ticket types, and of events with a capacity."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from peewee import JOIN, Field, fn

from ticketing.constants import LIVE, AdmissionStatus
from ticketing.models.admissions import Admission
from ticketing.models.events import Event
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.ticket_types import EventStock, TicketType
from ticketing.services.payments.reconciled_rows import Found, Scope, first

_OUT_OF_BOUNDS = (
    (TicketType.held < 0)
    | (TicketType.sold < 0)
    | (TicketType.held + TicketType.sold > TicketType.capacity)
)


def is_doubtful() -> Any:
    """Return the SQL condition that finds ticket types that may violate a rule."""
    held, sold = _ordered(), _admitted()
    return _OUT_OF_BOUNDS | (TicketType.held != held) | (TicketType.sold != sold)


def stock_within_capacity(scope: Scope) -> Found:
    """No more is held and sold than the capacity, and neither is negative."""
    held, sold, capacity = TicketType.held, TicketType.sold, TicketType.capacity
    query = TicketType.select(TicketType.id, held, sold, capacity).where(_OUT_OF_BOUNDS)
    for ticket_type, *numbers in first(query, TicketType, scope):
        yield [ticket_type], "{} are held and {} sold of {}".format(*numbers)


def held_is_live(scope: Scope) -> Found:
    """What is held is what live intents hold."""
    for ticket_type, held, live in _stock_differs(TicketType.held, _ordered(), scope):
        yield [ticket_type], f"{held} are held, but live intents hold {live}"


def sold_is_admitted(scope: Scope) -> Found:
    """What is sold is the number of admissions that are not void, guests included."""
    for ticket_type, sold, admitted in _stock_differs(TicketType.sold, _admitted(), scope):
        yield [ticket_type], f"{sold} are sold, but {admitted} admissions are valid or suspended"


def _stock_differs(column: Field[Any], expected: Any, scope: Scope) -> Iterable[Any]:
    query = TicketType.select(TicketType.id, column, expected).where(column != expected)
    return first(query, TicketType, scope)


def _ordered() -> Any:
    """Return the SQL sum of a ticket type's seats in live intents."""
    of_it = PaymentIntent.ticket_type == TicketType.id
    quantities = PaymentIntent.select(fn.SUM(PaymentIntent.quantity)).where(
        of_it, PaymentIntent.status.in_(LIVE)
    )
    return fn.COALESCE(quantities, 0)


def _admitted() -> Any:
    """Return the SQL count of a ticket type's admissions that are not void."""
    seats = (AdmissionStatus.VALID, AdmissionStatus.SUSPENDED)
    return Admission.select(fn.COUNT(Admission.status)).where(
        Admission.ticket_type == TicketType.id, Admission.status.in_(seats)
    )


def event_stock_agrees(scope: Scope) -> Found:
    """An event has its own stock exactly if it has a capacity: the sums of its ticket types."""
    held, sold = _sum(TicketType.held), _sum(TicketType.sold)
    disagrees = (
        (EventStock.capacity != Event.capacity)
        | EventStock.capacity.is_null()
        | Event.capacity.is_null()
        | (EventStock.held != held)
        | (EventStock.sold != sold)
        | (EventStock.held + EventStock.sold > EventStock.capacity)
    )
    counted = (EventStock.capacity, EventStock.held, EventStock.sold)
    query = (
        Event.select(Event.id, *counted, Event.capacity, held, sold)
        .join(EventStock, JOIN.LEFT_OUTER, on=(EventStock.event == Event.id))
        .where(Event.capacity.is_null(False) | EventStock.capacity.is_null(False), disagrees)
    )
    for event, *numbers in first(query, Event, scope):
        yield (
            [event],
            "its own stock of {} has {} held and {} sold, the event of {} has {} and {}".format(
                *numbers
            ),
        )


def _sum(column: Field[Any]) -> Any:
    """Return the SQL sum of a column over the ticket types of an event."""
    return fn.COALESCE(
        TicketType.select(fn.SUM(column).cast("BIGINT")).where(TicketType.event == Event.id), 0
    )
