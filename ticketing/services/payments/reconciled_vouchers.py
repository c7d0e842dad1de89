"""The rule of reconciliation.py about vouchers: their usages are the seats that use them."""

from __future__ import annotations

from typing import Any

from peewee import fn

from ticketing.constants import EVENT_CANCELED_REASON, LIVE, AdmissionStatus
from ticketing.models.admissions import Admission
from ticketing.models.items import IntentItem
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.vouchers import Voucher
from ticketing.services.payments.rule_scope import Rows, Scope, first, total

_USES_IT = (PaymentIntent.voucher == Voucher.id) & IntentItem.vouchered
_OF_ITEM = (IntentItem.intent == Admission.intent) & (
    IntentItem.ticket_type == Admission.ticket_type
)
_KEEPS_USAGE = (Admission.status != AdmissionStatus.VOID) | (
    Admission.void_reason == EVENT_CANCELED_REASON
)
"""A void gives the usage of its seat back. The cancelation of an event does not."""


def voucher_usages_match(scope: Scope) -> Rows:
    """What is held of a voucher is what live intents use, and redeemed what admissions use.

    Example: an order of 3 seats with a code is confirmed, and 1 seat is voided. 2 are redeemed.
    Then the event is canceled: still 2.
    """
    held, redeemed = _held(), _redeemed()
    query = Voucher.select(Voucher.id, Voucher.held, held, Voucher.redeemed, redeemed).where(
        (Voucher.held != held) | (Voucher.redeemed != redeemed)
    )
    for voucher, *numbers in first(query, Voucher, scope):
        yield (
            [voucher],
            "{} usages are held, but live intents hold {};"
            " {} are redeemed, but admissions use {}".format(*numbers),
        )


def _held() -> Any:
    """Return the SQL sum of the seats that use a voucher in live intents."""
    return (
        IntentItem.select(total(IntentItem.quantity))
        .join(PaymentIntent)
        .where(_USES_IT, PaymentIntent.status.in_(LIVE))
    )


def _redeemed() -> Any:
    """Return the SQL count of the admissions that use a voucher."""
    return (
        Admission.select(fn.COUNT(Admission.id))
        .join(PaymentIntent)
        .join_from(Admission, IntentItem, on=_OF_ITEM)
        .where(_USES_IT, _KEEPS_USAGE)
    )
