"""Void all admissions of a canceled event. A few statements do it, however many there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from peewee import JOIN, Case, Expression, ModelSelect, fn

from ticketing import clock
from ticketing.chain.answers import Block
from ticketing.constants import EVENT_CANCELED_REASON, SOLD, AdmissionStatus, IntentStatus
from ticketing.db.connection import locked
from ticketing.models.admissions import SEAT_KEPT, Admission
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import IS_HOME, KEPT, PaymentIntent
from ticketing.services.notifications import facts, feed
from ticketing.services.orders import admissions, seats
from ticketing.services.payments import settlement


@dataclass(frozen=True)
class Outlook:
    """How many tickets a cancelation of an event still affects, and their price in micro-units.

    The price is without what was forgiven: that much was never received.
    """

    tickets: int
    price: int


def outlook(event_id: str) -> Outlook:
    """Return what a cancelation with refunds would take back now. It reads all admissions.

    After a cancelation without refunds, these are the admissions that a refund would make up for.
    """
    unrefunded = (Admission.void_reason == EVENT_CANCELED_REASON) & ~Admission.void_refund
    affected = (
        Admission.select(fn.COUNT(Admission.id), fn.SUM(SEAT_KEPT))
        .join(PaymentIntent, JOIN.LEFT_OUTER)
        .where(
            Admission.event == event_id,
            (Admission.status != AdmissionStatus.VOID) | unrefunded,
        )
    )
    tickets, price = affected.scalar(as_tuple=True)
    return Outlook(int(tickets), int(price or 0))


def void_all(event_id: str, cursors: Mapping[int, Block | None], *, refund: bool) -> int:
    """Void the admissions of an event, those of people inside included. Return how many.

    `refund`: what they cost becomes owed to their orders, also for those that an earlier call
    voided without a refund. Seats that were void before the cancelation keep what they released. A
    repeat changes nothing. Call it after sale_locks.cancel_sale, which returns the `cursors`, in
    the same transaction: until that ends, no order of the event is settled, and no guest is added.
    """
    of_event = Admission.event == event_id
    orders = (PaymentIntent.event == event_id) & PaymentIntent.status.in_(SOLD)
    _lock_rows(PaymentIntent.select(PaymentIntent.id).where(orders).order_by(PaymentIntent.id))
    _lock_rows(Admission.select(Admission.id).where(of_event).order_by(Admission.id))
    released = {"released": Admission.amount} if refund else {}
    voided = Admission.update(
        **released,
        status=AdmissionStatus.VOID,
        voided_at=clock.now(),
        void_reason=EVENT_CANCELED_REASON,
        void_refund=refund,
        returned_at=None,
        change_number=None,
    ).where(of_event, Admission.status != AdmissionStatus.VOID)
    changed = count = voided.execute()
    admissions.end_transfers(of_event)
    if refund:
        made_up = Admission.update(void_refund=True, released=Admission.amount).where(
            of_event,
            Admission.void_reason == EVENT_CANCELED_REASON,
            ~Admission.void_refund,
        )
        changed += made_up.execute()
        if changed:
            _release_seats(orders)
            _owe(event_id, orders & (PaymentIntent.status == IntentStatus.CONFIRMED))
            _settle_reversed(orders, cursors)
    of_pool = orders & (PaymentIntent.pooled > 0)
    PaymentIntent.update(pooled=0).where(of_pool).execute()
    for each in seats.STOCKS:
        for statement in each.empty(event_id):
            statement.execute()
    return int(count)


def _lock_rows(ids: ModelSelect[Any]) -> None:
    """Lock rows in the order of the query, without reading them all into memory."""
    rows = locked(ids).alias("locked_rows")
    ids.model.select(fn.COUNT(rows.c.id)).from_(rows).scalar()


def _release_seats(orders: Expression) -> None:
    """Add up what the seats of these orders released."""
    seats = Admission.intent == PaymentIntent.id
    released = Admission.select(fn.SUM(Admission.released).cast("BIGINT")).where(seats)
    PaymentIntent.update(released=fn.COALESCE(released, 0)).where(orders).execute()


def _owe(event_id: str, orders: Expression) -> None:
    """Make what their voided seats cost owed to these confirmed orders.

    Example: an order of 2 seats at 5 received 12. Before, it owed 2. After both seats were voided,
    it keeps 0 and owes 12.
    """
    owed = (OrderAccount.event_id == event_id) & orders
    owed &= OrderAccount.due - OrderAccount.pending > 0
    homes = OrderAccount.select(OrderAccount, PaymentIntent).join(PaymentIntent, on=IS_HOME)
    before = {account.id for account in homes.where(owed)}
    counted = OrderAccount.received - OrderAccount.refunded - OrderAccount.waived
    due = Case(None, [(counted > KEPT, counted - KEPT)], 0)
    final = OrderAccount.final - OrderAccount.refunded - OrderAccount.waived
    due_now = Case(None, [(final > KEPT, final - KEPT)], 0)
    (
        OrderAccount.update(due=due, pending=due - due_now, kept=counted - due)
        .from_(PaymentIntent)
        .where(IS_HOME, orders)
        .execute()
    )
    changed = {PaymentIntent.books_version: PaymentIntent.books_version + 1}
    PaymentIntent.update(changed).where(orders).execute()
    now = list(homes.where(owed).order_by(OrderAccount.intent))
    if now:
        risen = (account for account in now if account.id not in before)
        feed.record_all(
            now[0].tenant_id, (fact for each in risen for fact in facts.refund_due(each, 0))
        )


def _settle_reversed(orders: Expression, cursors: Mapping[int, Block | None]) -> None:
    """Settle the few reversed orders: they may keep nothing now, so that no payment is missing."""
    for intent in settlement.lock_where(orders & (PaymentIntent.status == IntentStatus.REVERSED)):
        cursor = cursors.get(intent.chain_id or 0)
        if cursor is not None:
            settlement.settle(intent, cursor)
