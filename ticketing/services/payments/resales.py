"""Sell seats on that were given back: the oldest offered ones become void for a new order.

A new order whose seats come from the pool (`pooled`) is confirmed like any other. Its seats are
extra ones until its payment is final. Then, in one transaction, as many offered seats of the same
ticket type become void, and what they were promised becomes owed to their orders. Nothing else of
the stock moves: as many seats go as came.

    Ada bought a seat for 20 and offers it back, less 10 %     offered 1, taken 0, sold 1
    Eve orders the last seat that there is: Ada's              offered 1, taken 1, sold 1
    Eve pays, and her order is confirmed                       offered 1, taken 1, sold 1
    her payment is final                                       offered 0, taken 0, sold 1
    Ada's seat is void, 18 are owed to her order, which keeps the fee of 2

A seat that is offered is never matched with one order before that. So either can end: Eve's order
expires, and Ada keeps hers. The invariants were checked with a model: tests/support/returns_model.
"""

from __future__ import annotations

from collections.abc import Sequence

from ticketing import clock
from ticketing.constants import RESOLD_REASON, IntentStatus
from ticketing.db.connection import locked, write_transaction
from ticketing.models.admissions import Admission
from ticketing.models.base import literal
from ticketing.models.events import Event
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.ticket_types import TicketType
from ticketing.services.notifications import facts, feed
from ticketing.services.orders import returns, stock
from ticketing.services.payments import owing, settlement, voids

ORDERS_AT_ONCE = 100
OFFERS_AT_ONCE = 100


def swap_some() -> int:
    """Swap the seats of some orders that are final. Return how many orders."""
    found = PaymentIntent.select(PaymentIntent.id).where(
        PaymentIntent.pooled > literal(0),
        PaymentIntent.status == IntentStatus.CONFIRMED,
        ~PaymentIntent.early,
    )
    ready = [each.id for each in found.order_by(PaymentIntent.id).limit(ORDERS_AT_ONCE)]
    return sum(_swap(intent_id) for intent_id in ready)


def end_some_offers() -> int:
    """End the offers of seats that can no longer be given back, if no order counts on them."""
    types = (
        TicketType.select(TicketType, Event)
        .join(Event)
        .where(TicketType.offered > literal(0), TicketType.taken < TicketType.offered)
    )
    closed = [each.id for each in types if each.event.returns_end <= clock.now()]
    if not closed:
        return 0
    late = (
        Admission.select(Admission.id)
        .where(Admission.ticket_type.in_(closed), Admission.returned_at.is_null(False))
        .order_by(Admission.returned_at.desc())
        .limit(OFFERS_AT_ONCE)
    )
    return sum(_end_offer(each.id) for each in list(late))


def _end_offer(admission_id: str) -> bool:
    with write_transaction():
        found = locked(Admission.select().where(Admission.id == admission_id)).get()
        admission: Admission = found
        return admission.returned_at is not None and returns.withdraw(admission)


def _swap(intent_id: str) -> bool:
    """Swap the seats of one order. Return whether it was done."""
    new = PaymentIntent.get_by_id(intent_id)
    wanted = {each.id: str(each.intent_id) for each in _oldest_offered(new)}
    order_ids = {intent_id, *wanted.values()}
    with write_transaction(), owing.locked(new.tenant_id, new.event_id, order_ids) as them:
        new = them.orders[intent_id]
        offered = [each for each in them.seats if each.id in wanted and each.returned_at]
        if not (new.pooled and new.final) or len(offered) < new.pooled:
            return False  # somebody was faster: the next round finds it as it is then
        now_void = offered[: new.pooled]
        for seat in now_void:
            # What the promise leaves of its cost stays kept.
            promised = min(int(seat.return_amount or 0), seat.amount - seat.released)
            is_whole = promised == seat.amount
            voids.write(seat, reason=RESOLD_REASON, refund=is_whole)
            them.release(seat, promised)
        stock.swap(new.items[0].ticket_type_id, new.pooled)
        settlement.write_changes(new, {"pooled": 0})
        feed.record_all(new.tenant_id, [facts.admission_voided(each) for each in now_void])
        return True


def _oldest_offered(order: PaymentIntent) -> Sequence[Admission]:
    """Return the seats that go for an order, and their orders: those offered first."""
    found = (
        Admission.select(Admission.id, Admission.intent)
        .where(
            Admission.ticket_type == order.items[0].ticket_type_id,
            Admission.returned_at.is_null(False),
        )
        .order_by(Admission.returned_at, Admission.id)
        .limit(order.pooled)
    )
    return list(found)
