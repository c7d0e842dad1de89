"""Give a seat back: its holder offers it, and gets money if somebody else buys its place.

A seat that is offered is still sold, and counted in `offered` of its ticket type. An order that
finds no other seat takes one of these: `taken`. Which one is decided when that order is final: see
services/payments/resales.py. So a single offer ends only while fewer are taken than offered.

Example: Ada and Bob give a seat back each: 2 offered. Eve orders one: 1 taken. Ada keeps hers after
all: 1 offered, 1 taken. Now Bob cannot keep his: he gets his money when Eve's payment is final.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime

from ticketing import clock
from ticketing.constants import AdmissionStatus
from ticketing.db.connection import write_transaction
from ticketing.errors import (
    AdmissionSuspended,
    AdmissionVoid,
    AlreadyRedeemed,
    Conflict,
    NotReturnable,
    PaymentNotFinal,
    RefundAddressMissing,
    ReturnInProgress,
    ReturnsClosed,
)
from ticketing.models.admissions import Admission
from ticketing.models.base import literal
from ticketing.models.items import has_item_of
from ticketing.models.payment_intents import AWAITING, PaymentIntent
from ticketing.services.notifications import facts, feed
from ticketing.services.orders import admissions, finality, holders, payees_shown, stock


@dataclass(frozen=True)
class Terms:
    """On which terms an admission can be given back now. Amounts are micro-units.

    `amount` comes back, less a fee of `fee_percent` percent, until `ends_at`. `needs_address`: the
    order must state first where it goes.
    """

    amount: int
    fee_percent: int
    ends_at: datetime
    needs_address: bool


def offer(tenant_reference: str, admission_id: str, code: str | None) -> Admission:
    """Offer an admission back. Its open transfer ends. A repeat changes nothing.

    `code` as in holders.get. NotFound. NotReturnable, ReturnsClosed, RefundAddressMissing,
    AdmissionVoid, AlreadyRedeemed, AdmissionSuspended, PaymentNotFinal.
    """
    with write_transaction():
        admission = holders.lock(tenant_reference, admission_id, code)
        if admission.returned_at is not None:
            return admission
        found = terms(admission)
        if isinstance(found, Conflict):
            raise found
        if found.needs_address:
            raise RefundAddressMissing
        admissions.change(admission, return_amount=found.amount, returned_at=clock.now())
        admissions.end_transfers(Admission.id == admission.id)
        stock.offer(admission.ticket_type_id)
        admission.ticket_type.offered += 1  # as the response shows it
        feed.record(admission.tenant_id, *facts.return_offered(admission))
        return admission


def cancel(tenant_reference: str, admission_id: str, code: str | None) -> Admission:
    """Keep an admission that was offered back. If it was not, nothing changes.

    `code` as in holders.get. NotFound; ReturnInProgress.
    """
    with write_transaction():
        admission = holders.lock(tenant_reference, admission_id, code)
        if admission.returned_at is not None and not withdraw(admission):
            ends_at = unpaid_until(admission)
            if ends_at is None:
                raise ReturnInProgress
            left = math.ceil((ends_at - clock.now()).total_seconds())
            raise ReturnInProgress(retry_after=max(1, left))
        return admission


def unpaid_until(admission: Admission) -> datetime | None:
    """Return when the first unpaid order ends that counts on a seat like this one.

    Then its holder may keep it, if nobody has paid. None: no order for it is unpaid.
    """
    unpaid: PaymentIntent | None = (
        PaymentIntent.select(PaymentIntent.hold_until)
        .where(
            PaymentIntent.pooled > literal(0),
            AWAITING,
            has_item_of(admission.ticket_type_id),
        )
        .order_by(PaymentIntent.hold_until)
        .first()
    )
    return None if unpaid is None else unpaid.hold_until


def withdraw(admission: Admission) -> bool:
    """End the offer of a locked admission. Return whether it could end: no order counts on it."""
    if not stock.withdraw(admission.ticket_type_id):
        return False
    admissions.change(admission, return_amount=None, returned_at=None)
    feed.record(admission.tenant_id, *facts.return_canceled(admission))
    return True


def terms(admission: Admission) -> Terms | Conflict:
    """Return on which terms an admission can be given back now, or why it cannot be.

    It was read with its event, ticket type and item.
    """
    if admission.status == AdmissionStatus.VOID:
        return AdmissionVoid()
    if admission.redeemed_at is not None:
        return AlreadyRedeemed()
    if admission.status == AdmissionStatus.SUSPENDED:
        return AdmissionSuspended()
    fee: int | None = None if admission.item is None else admission.item.return_fee_percent
    if fee is None or admission.transferred:
        return NotReturnable()
    ends_at = admission.event.returns_end
    if clock.now() >= ends_at:
        return ReturnsClosed()
    order = _order(admission)
    if not order.final or order.pooled:
        return PaymentNotFinal(retry_after=finality.seconds_left(order) if order.early else 2)
    price = min(int(admission.amount), int(admission.ticket_type.price_amount))
    amount = price * (100 - fee) // 100
    return Terms(amount, fee, ends_at, bool(amount) and not _has_address(order))


def _has_address(order: PaymentIntent) -> bool:
    """Return whether an order says where its money goes, also if that does not count yet."""
    if order.home.refund_address is not None:
        return True
    shown = payees_shown.of([order]).get(order.home.id, payees_shown.NONE)
    return shown.waiting_address is not None


def _order(admission: Admission) -> PaymentIntent:
    """Return the order with all its columns. Its lock is not needed: see `offer`.

    A payment that leaves the chain now suspends the admission after this transaction.
    """
    found: PaymentIntent = PaymentIntent.get_by_id(admission.intent_id)
    return found
