"""Deposits: a part of the price comes back to who came.

A release goes through the orders of an event that have a deposit. Of each ticket that was redeemed
and is not void, the deposit becomes owed to its order, like any refund: the organizer pays it from
their own wallet. A release is asked for, or begins a day after the event by itself, and again daily
for a week. What a ticket has released is written on it, so a repeat releases nothing twice.

Example: a ticket for 20 has a deposit of 10. Ada comes: 10 are owed to her order, which keeps 10.
Bob does not come: his order keeps 20. Eve's scan is undone after the release: her 10 stay owed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from peewee import SQL, Case, Expression, ModelSelect, fn

from ticketing import clock
from ticketing.constants import AdmissionStatus, IntentStatus, Publication
from ticketing.db.connection import write_transaction
from ticketing.deposits import AFTER_END, EVERY, FOR, DepositsRelease
from ticketing.errors import DoorsUnsynced, NotFound
from ticketing.models.admissions import Admission
from ticketing.models.base import literal
from ticketing.models.events import Event
from ticketing.models.items import IntentItem
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.ticket_types import TicketType
from ticketing.services import event_locks
from ticketing.services.payments import devices_in_use, owing, settlement

ORDERS_AT_ONCE = 100


@dataclass(frozen=True)
class Sum:
    """Deposits of some tickets: how many, of how many orders, and how much, in micro-units."""

    seats: int
    orders: int
    amount: int


@dataclass(frozen=True)
class Outlook:
    """What was released of an event, and what a release of now would add.

    `not_final`: deposits of who came, whose payment is not final yet: a later release adds them.
    `is_running`: a release was asked for, and has not gone through all orders. `ran_at`: when the
    last one began.
    """

    released: Sum
    due: Sum
    not_final: Sum
    is_running: bool
    ran_at: datetime | None


def outlook(tenant_id: str, event_id: str) -> Outlook:
    """Return what was released of an event, and what is due. NotFound."""
    event = Event.get_or_none(Event.id == event_id, Event.tenant == tenant_id)
    if event is None:
        raise NotFound("This event does not exist.")
    of_event = PaymentIntent.event == event_id
    return Outlook(
        released=_sum(of_event & (Admission.deposit_released > 0), Admission.deposit_released),
        due=_sum(of_event & _CAME & _FINAL, _OPEN),
        not_final=_sum(of_event & _CAME & ~_FINAL, _OPEN),
        is_running=bool(event.deposits_running),
        ran_at=event.deposits_run_at,
    )


def release(tenant_id: str, event_id: str, *, force: bool = False) -> Outlook:
    """Begin a release: the worker makes the deposits of who came owed. Return the outlook.

    `force` ignores door devices. NotFound. DoorsUnsynced if a device has scans to send: who came is
    not known yet.
    """
    with write_transaction():
        event = event_locks.keep(tenant_id, event_id)
        if not force and devices_in_use.has_unsynced(event):
            raise DoorsUnsynced
        _begin(event)
    return outlook(tenant_id, event_id)


def begin_due() -> int:
    """Begin the releases that the service makes by itself. Return how many.

    While a device has scans to send, it waits, but not longer than a week.
    """
    now = clock.now()
    has_deposit = TicketType.select(TicketType.event).where(TicketType.deposit_amount > literal(0))
    ready = Event.select().where(
        Event.id.in_(has_deposit),
        Event.deposits_release == DepositsRelease.AUTOMATIC,
        Event.status == Publication.PUBLISHED,
        Event.start_at < now - AFTER_END,
        Event.deposits_run_at.is_null() | (Event.deposits_run_at <= now - EVERY),
    )
    begun = [event for event in list(ready) if _is_due(event, now)]
    for event in begun:
        _begin(event)
    return len(begun)


def run_some() -> int:
    """Go on with the releases that run: release the deposits of some orders. Return how many."""
    releasing = Event.select().where(Event.deposits_running == SQL("TRUE"))
    return sum(_run(event) for event in list(releasing))


def _run(event: Event) -> int:
    """Release the deposits of some orders of an event. Without any, its release has ended."""
    found = list(_to_try(event).limit(ORDERS_AT_ONCE))
    for each in found:
        _release(each.id)
    if not found:
        of_this_release = (Event.id == event.id) & (Event.deposits_run_at == event.deposits_run_at)
        Event.update(deposits_running=False).where(of_this_release).execute()
    return len(found)


def _is_due(event: Event, now: datetime) -> bool:
    first = event.over_at + AFTER_END
    if not first <= now < first + FOR + EVERY:
        return False
    return now >= first + FOR or not devices_in_use.has_unsynced(event)


def _begin(event: Event) -> None:
    began = {"deposits_run_at": clock.now(), "deposits_running": True}
    Event.update(began).where(Event.id == event.id).execute()


def _to_try(event: Event) -> ModelSelect[PaymentIntent]:
    """Select the orders of an event that its last release has not gone through."""
    query: ModelSelect[PaymentIntent] = PaymentIntent.select(PaymentIntent.id).where(
        PaymentIntent.event == event.id,
        PaymentIntent.deposits_tried_at.is_null(False),
        PaymentIntent.deposits_tried_at < event.deposits_run_at,
    )
    return query


_CAME = (
    PaymentIntent.deposits_tried_at.is_null(False)
    & Admission.redeemed_at.is_null(False)
    & (Admission.status == AdmissionStatus.VALID)
    & (Admission.deposit_released < IntentItem.deposit_amount)
)
_FINAL = (PaymentIntent.status == IntentStatus.CONFIRMED) & ~PaymentIntent.early
_LEFT = IntentItem.deposit_amount - Admission.deposit_released
_KEPT = Admission.amount - Admission.released
_OPEN = Case(None, [(_LEFT < _KEPT, _LEFT)], _KEPT)
"""How much of a seat's deposit can be released: no more than its order still keeps of it."""


def _sum(condition: Expression, amount: Any) -> Sum:
    counts = (fn.COUNT(Admission.id), fn.COUNT(fn.DISTINCT(PaymentIntent.id)), fn.SUM(amount))
    of_type = (IntentItem.intent == PaymentIntent.id) & (
        IntentItem.ticket_type == Admission.ticket_type
    )
    rows: Iterable[Any] = (
        PaymentIntent.select(*counts)
        .join(Admission)
        .join_from(PaymentIntent, IntentItem, on=of_type)
        .where(condition)
        .tuples()
    )
    ((seats, orders, total),) = rows
    return Sum(int(seats), int(orders), int(total or 0))


def _release(intent_id: str) -> None:
    """Release the deposits of one order, if its payment is final."""
    found = PaymentIntent.get_by_id(intent_id)
    with write_transaction(), owing.locked(found.tenant_id, found.event_id, [intent_id]) as them:
        order = them.orders[intent_id]
        # Before the settlement: what it changes must not be overwritten.
        settlement.write_changes(order, {"deposits_tried_at": clock.now()})
        if order.status != IntentStatus.CONFIRMED or not order.final:
            return
        deposits = {each.ticket_type_id: each.deposit_amount for each in order.items}
        for seat in them.seats:
            if seat.redeemed_at is None or seat.status != AdmissionStatus.VALID:
                continue
            left = deposits[seat.ticket_type_id] - seat.deposit_released
            amount = min(left, seat.amount - seat.released)
            if amount > 0:
                seat.deposit_released += amount
                seat.save(only=[Admission.deposit_released])
                them.release(seat, amount)
