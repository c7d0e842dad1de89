"""The rules of a reconciliation for money: payments, refunds, and what is owed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from peewee import JOIN, Case, fn

from ticketing.chain import units
from ticketing.constants import MICRO_UNIT_DECIMALS, SOLD, IntentStatus
from ticketing.models.payment_intents import Payment, PaymentIntent
from ticketing.models.refunds import Refund
from ticketing.services.payments.reconciled_rows import (
    BREACHES_PER_RULE,
    Found,
    Scope,
    first,
    of_tenant,
)

_CONFIRMED = PaymentIntent.status == IntentStatus.CONFIRMED

_DECIMALS = range(MICRO_UNIT_DECIMALS + 1, units.MAX_DECIMALS + 1)
_DUST_PER_MICRO_UNIT = Case(
    PaymentIntent.token_decimals, [(n, 10 ** (n - MICRO_UNIT_DECIMALS)) for n in _DECIMALS], 1
)

_ENDED = PaymentIntent.status.in_([IntentStatus.EXPIRED, IntentStatus.CANCELED])
_COUNTED = PaymentIntent.amount_received - PaymentIntent.refunded - PaymentIntent.waived
_SOLD_FOR = PaymentIntent.unit_amount * (PaymentIntent.quantity - PaymentIntent.seats_refunded)
_KEPT = Case(None, [(_ENDED, 0), (PaymentIntent.status.in_(SOLD), _SOLD_FOR)], PaymentIntent.amount)
_BEYOND = _COUNTED - _KEPT
# Negative if a reorganization removed payments, refunded ones too. Then no refund is due.
_REFUND_DUE = Case(None, [(_BEYOND > 0, _BEYOND)], 0)
_UNACCOUNTED = (
    (PaymentIntent.refund_due != _REFUND_DUE)
    | (PaymentIntent.refund_pending < 0)
    | (PaymentIntent.refund_pending > PaymentIntent.refund_due)
    | (_CONFIRMED & (_COUNTED < _KEPT))
)


def is_doubtful() -> Any:
    """Return the SQL condition that finds intents that may violate a rule."""
    of = PaymentIntent.id
    abroad = fn.SUM(Case(None, [(Payment.chain_id == PaymentIntent.chain_id, 0)], 1))
    received = Case(None, [(abroad > 0, -1)], _received())
    refunded = _refunded()
    return (
        _UNACCOUNTED
        | (Payment.select(received).where(Payment.intent == of) != PaymentIntent.amount_received)
        | (Refund.select(refunded).where(Refund.intent == of) != PaymentIntent.refunded)
    )


def received_is_payments(scope: Scope) -> Found:
    """What an intent received is the sum of its payments."""
    total = _received()
    query = (
        PaymentIntent.select(PaymentIntent.id, PaymentIntent.amount_received, total)
        .join(Payment, JOIN.LEFT_OUTER, on=(Payment.intent == PaymentIntent.id))
        .group_by(PaymentIntent.id)
        .having(PaymentIntent.amount_received != total)
    )
    for intent, received, sum_ in first(query, PaymentIntent, scope):
        yield [intent], f"amount_received is {received}, its payments add up to {sum_}"


def refunded_is_refunds(scope: Scope) -> Found:
    """What was refunded is the sum of its refunds."""
    total = _refunded()
    query = (
        PaymentIntent.select(PaymentIntent.id, PaymentIntent.refunded, total)
        .join(Refund, JOIN.LEFT_OUTER, on=(Refund.intent == PaymentIntent.id))
        .group_by(PaymentIntent.id)
        .having(PaymentIntent.refunded != total)
    )
    for intent, refunded, sum_ in first(query, PaymentIntent, scope):
        yield [intent], f"refunded is {refunded}, its refunds add up to {sum_}"


def every_unit_accounted(scope: Scope) -> Found:
    """What was received is kept, owed, refunded or waived."""
    query = PaymentIntent.select(
        PaymentIntent.id,
        PaymentIntent.status,
        PaymentIntent.amount,
        PaymentIntent.amount_received,
        PaymentIntent.refunded,
        PaymentIntent.refund_due,
        PaymentIntent.refund_pending,
        _REFUND_DUE,
    ).where(_UNACCOUNTED)
    for intent, *numbers in first(query, PaymentIntent, scope):
        yield (
            [intent],
            "a {} intent of {} has received {} and refunded {}:"
            " its refund_due is {} ({} of it pending), not {}".format(*numbers),
        )


def one_address_one_intent(scope: Scope) -> Found:
    """No address serves two intents."""
    # A unique index rejects equal texts, but an address is the same in any case of letters.
    address = fn.LOWER(PaymentIntent.address)
    first, last = fn.MIN(PaymentIntent.id), fn.MAX(PaymentIntent.id)
    query = (
        PaymentIntent.select(address, fn.COUNT(PaymentIntent.id), first, last)
        .where(PaymentIntent.address.is_null(False))
        .group_by(address)
        .having(fn.COUNT(PaymentIntent.id) > 1)
    )
    query = of_tenant(query, PaymentIntent, scope.tenant_id).order_by(first)
    found: Iterable[Any] = query.limit(BREACHES_PER_RULE).tuples()
    for shared, count, *ends in found:
        yield ends, f"{shared} serves {count} intents"


def payments_fit_intents(scope: Scope) -> Found:
    """A payment is on the chain of its intent."""
    query = (
        Payment.select(Payment.id, Payment.chain_id, PaymentIntent.id, PaymentIntent.chain_id)
        .join(PaymentIntent)
        .where(PaymentIntent.chain_id.is_null() | (Payment.chain_id != PaymentIntent.chain_id))
    )
    for payment, chain, intent, of in first(query, PaymentIntent, scope):
        yield [payment, intent], f"the payment is on chain {chain}, its intent on {of}"


def _received() -> Any:
    """Return the SQL sum of canonical payments, in micro-units."""
    amount = _total(Case(None, [(Payment.canonical, Payment.amount)], 0))
    dust = _total(Case(None, [(Payment.canonical, Payment.dust)], 0))
    return amount + dust / _DUST_PER_MICRO_UNIT


def _refunded() -> Any:
    """Return the SQL sum of canonical refunds, in micro-units."""
    return _total(Case(None, [(Refund.canonical, Refund.amount)], 0))


def _total(column: Any) -> Any:
    # In Postgres a sum of bigints is numeric, and its division would not be an integer division.
    return fn.COALESCE(fn.SUM(column), 0).cast("BIGINT")
