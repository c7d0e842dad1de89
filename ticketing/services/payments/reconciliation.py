"""Reconciliation: rules that must always hold for stock and money, checked in the database.

1.  No more seats are held and sold than the capacity, of a ticket type and of an event.
2.  `held` is what live orders hold. `sold` is the admissions that are not void, guests included.
    The usages of vouchers are what these use.
3.  An order has as many admissions as its quantity once it was confirmed, else none. They are
    valid while it is confirmed, suspended while it is reversed, or void. Items add up to it.
4.  Each payment is on its order's chain. What an order received is kept, owed, refunded or waived.
    Its amount is what its seats cost, and what it released is what they released. What it received
    elsewhere is owed, unassigned, out of reach, refunded or waived there, and nothing of it kept.
5.  No address serves two orders.
6.  A collection is of an order with a receiver, on its chain and in its token. That no more was
    collected than received is no rule: a payment may have been collected before it was found.

stock_rules.py has the rules 1 to 3, reconciled_vouchers.py that of vouchers, reconciled_strays.py
those of money elsewhere, this file the others.
Each rule is one SQL statement. It sees one consistent state, so it is correct while buyers order
and the worker writes. First, one query over the ticket types and one over the orders find the rows
that may violate a rule. Usually there are none. Then the rules check only these rows.

That an address is its order's own is checked by address_check.py, because SQL cannot compute it.

Example: an order of 2 seats at 5 USDC received 13 USDC and is confirmed. It keeps 10, so its
`refund_due` must be 3. If the column says 0, the breach is `every_unit_accounted`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from peewee import JOIN, Case, fn

from ticketing.chain import units
from ticketing.constants import MICRO_UNIT_DECIMALS, SOLD, AdmissionStatus, IntentStatus
from ticketing.models.admissions import Admission
from ticketing.models.base import literal
from ticketing.models.collections import Collection
from ticketing.models.payment_intents import KEPT, PaymentIntent
from ticketing.models.payments import PAYMENT_AT_HOME, Payment
from ticketing.models.refunds import REFUND_AT_HOME, Refund
from ticketing.models.ticket_types import TicketType
from ticketing.models.wallets import Wallet
from ticketing.services.payments import reconciled_strays, reconciled_vouchers, stock_rules
from ticketing.services.payments.rule_scope import (
    BREACHES_PER_RULE,
    Rows,
    Scope,
    doubtful,
    first,
    of_tenant,
    total,
)


@dataclass(frozen=True)
class Breach:
    """A violation of a rule: the rule, the ids of the inconsistent rows, and what they contain."""

    rule: str
    ids: list[str]
    detail: str


def reconcile(tenant_id: str | None) -> list[Breach]:
    """Return the breaches of one tenant, or of all (None). Empty: everything is consistent."""
    scope = Scope(
        tenant_id,
        doubtful(TicketType, stock_rules.is_doubtful_ticket_type(), tenant_id),
        doubtful(PaymentIntent, _is_doubtful_intent(), tenant_id),
    )
    return [
        Breach(name, ids, detail) for name, rule in RULES.items() for ids, detail in rule(scope)
    ]


def count_intents(tenant_id: str | None) -> int:
    """Return how many intents the reconciliation covers."""
    return int(of_tenant(PaymentIntent.select(), PaymentIntent, tenant_id).count())


def _is_doubtful_intent() -> Any:
    """Return the SQL condition that finds intents that may violate a rule."""
    intent = PaymentIntent.id
    abroad = fn.SUM(Case(None, [(Payment.chain_id == PaymentIntent.chain_id, 0)], 1))
    received = Case(None, [(abroad > 0, -1)], _received())
    at_home = (Payment.intent == intent) & PAYMENT_AT_HOME
    refunded_at_home = (Refund.intent == intent) & REFUND_AT_HOME
    return (
        stock_rules.is_doubtful_intent()
        | (_wrong_voids() > 0)
        | _seats_differ()
        | _UNACCOUNTED
        | (Payment.select(received).where(at_home) != _AMOUNT_RECEIVED)
        | (Refund.select(_refunded()).where(refunded_at_home) != PaymentIntent.refunded)
    )


# 4. A payment belongs to one order; what an order received is kept, owed, refunded or waived.

_CONFIRMED = PaymentIntent.status == IntentStatus.CONFIRMED
_AMOUNT_RECEIVED = PaymentIntent.amount_received
_DECIMALS = range(MICRO_UNIT_DECIMALS + 1, units.MAX_DECIMALS + 1)
# A token of 18 decimals: 10^12 atomic units of dust make one micro-unit.
_DUST_PER_MICRO_UNIT = Case(
    PaymentIntent.token_decimals, [(n, 10 ** (n - MICRO_UNIT_DECIMALS)) for n in _DECIMALS], 1
)
_ENDED = PaymentIntent.status.in_([IntentStatus.EXPIRED, IntentStatus.CANCELED])
_COUNTED = _AMOUNT_RECEIVED - PaymentIntent.refunded - PaymentIntent.waived
_KEPT = Case(None, [(_ENDED, 0), (PaymentIntent.status.in_(SOLD), KEPT)], PaymentIntent.amount)
_BEYOND = _COUNTED - _KEPT
# Negative if a reorganization removed payments, refunded ones too. Then no refund is due.
_REFUND_DUE = Case(None, [(_BEYOND > 0, _BEYOND)], 0)
_UNACCOUNTED = (
    (PaymentIntent.refund_due != _REFUND_DUE)
    | (PaymentIntent.refund_pending < 0)
    | (PaymentIntent.refund_pending > PaymentIntent.refund_due)
    | (_CONFIRMED & (_COUNTED < _KEPT))
)


def payments_fit_intents(scope: Scope) -> Rows:
    """A payment is on the chain of its intent."""
    query = (
        Payment.select(Payment.id, Payment.chain_id, PaymentIntent.id, PaymentIntent.chain_id)
        .join(PaymentIntent)
        .where(
            PAYMENT_AT_HOME,
            PaymentIntent.chain_id.is_null() | (Payment.chain_id != PaymentIntent.chain_id),
        )
    )
    for payment, chain, intent, intent_chain in first(query, PaymentIntent, scope):
        yield [payment, intent], f"the payment is on chain {chain}, its intent on {intent_chain}"


def received_is_payments(scope: Scope) -> Rows:
    """What an intent received is the sum of its payments."""
    total = _received()
    query = (
        PaymentIntent.select(PaymentIntent.id, _AMOUNT_RECEIVED, total)
        .join(
            Payment,
            JOIN.LEFT_OUTER,
            on=(Payment.intent == PaymentIntent.id) & PAYMENT_AT_HOME,
        )
        .group_by(PaymentIntent.id)
        .having(total != _AMOUNT_RECEIVED)
    )
    for intent, received, sum_ in first(query, PaymentIntent, scope):
        yield [intent], f"amount_received is {received}, its payments add up to {sum_}"


def refunded_is_refunds(scope: Scope) -> Rows:
    """What was refunded is the sum of its refunds."""
    total = _refunded()
    query = (
        PaymentIntent.select(PaymentIntent.id, PaymentIntent.refunded, total)
        .join(Refund, JOIN.LEFT_OUTER, on=(Refund.intent == PaymentIntent.id) & REFUND_AT_HOME)
        .group_by(PaymentIntent.id)
        .having(PaymentIntent.refunded != total)
    )
    for intent, refunded, sum_ in first(query, PaymentIntent, scope):
        yield [intent], f"refunded is {refunded}, its refunds add up to {sum_}"


def refunded_seats_are_void(scope: Scope) -> Rows:
    """A seat that was voided with a refund is void, and has released all that it cost."""
    wrong = _wrong_voids()
    query = PaymentIntent.select(PaymentIntent.id, wrong).where(wrong > 0)
    for intent, count in first(query, PaymentIntent, scope):
        yield [intent], f"{count} seats voided with a refund are not void, or released too little"


def seats_add_up(scope: Scope) -> Rows:
    """An intent's amount is what its seats cost, and what they released adds up.

    No seat releases more than it cost.
    """
    cost, released = _sum_of_seats(Admission.amount), _sum_of_seats(Admission.released)
    query = PaymentIntent.select(
        PaymentIntent.id, PaymentIntent.amount, cost, PaymentIntent.released, released
    ).where(_seats_differ())
    for intent, *numbers in first(query, PaymentIntent, scope):
        yield (
            [intent],
            "an intent of {} has seats of {}, has released {}, and its seats {}".format(*numbers),
        )


def every_unit_accounted(scope: Scope) -> Rows:
    """What was received is kept, owed, refunded or waived."""
    query = PaymentIntent.select(
        PaymentIntent.id,
        PaymentIntent.status,
        PaymentIntent.amount,
        _AMOUNT_RECEIVED,
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


def _received() -> Any:
    """Return the SQL sum of canonical payments, in micro-units."""
    amount = total(Case(None, [(Payment.canonical, Payment.amount)], 0))
    dust = total(Case(None, [(Payment.canonical, Payment.dust)], 0))
    return amount + dust / _DUST_PER_MICRO_UNIT


def _refunded() -> Any:
    """Return the SQL sum of canonical refunds, in micro-units."""
    return total(Case(None, [(Refund.canonical, Refund.amount)], 0))


def _wrong_voids() -> Any:
    """Return the SQL count of an intent's admissions that break `refunded_seats_are_void`."""
    is_wrong = (Admission.status != AdmissionStatus.VOID) | (Admission.released != Admission.amount)
    return Admission.select(fn.COUNT(Admission.id)).where(
        Admission.intent == PaymentIntent.id, Admission.void_refund, is_wrong
    )


def _seats_differ() -> Any:
    """Return the SQL condition that an intent's amounts are not those of its admissions."""
    bad = (Admission.released < 0) | (Admission.released > Admission.amount)
    released = Case(None, [(fn.SUM(Case(None, [(bad, 1)], 0)) > 0, -1)], total(Admission.released))
    was_sold = PaymentIntent.confirmed_at.is_null(False)
    return (was_sold & (_sum_of_seats(Admission.amount) != PaymentIntent.amount)) | (
        Admission.select(released).where(Admission.intent == PaymentIntent.id)
        != PaymentIntent.released
    )


def _sum_of_seats(column: Any) -> Any:
    """Return the SQL sum of a column over an intent's admissions."""
    return Admission.select(total(column)).where(Admission.intent == PaymentIntent.id)


# 5. No address serves two orders.


def one_address_one_intent(scope: Scope) -> Rows:
    """No address serves two intents."""
    # A unique index rejects equal texts, but an address is the same in any case of letters.
    address = fn.LOWER(PaymentIntent.address)
    lowest, highest = fn.MIN(PaymentIntent.id), fn.MAX(PaymentIntent.id)
    query = (
        PaymentIntent.select(address, fn.COUNT(PaymentIntent.id), lowest, highest)
        .where(PaymentIntent.address.is_null(False))
        .group_by(address)
        .having(fn.COUNT(PaymentIntent.id) > 1)
    )
    query = of_tenant(query, PaymentIntent, scope.tenant_id).order_by(lowest)
    shared: Iterable[Any] = query.limit(BREACHES_PER_RULE).tuples()
    for address, count, *ids in shared:
        yield ids, f"{address} serves {count} intents"


# 6. A collection is what a receiver sent.


def collections_fit_intents(scope: Scope) -> Rows:
    """A collection is on the chain and in the token of its intent, and paid its wallet."""
    # An intent is not looked up for its collections: these are fewer.
    query = (
        Collection.select(Collection.id, PaymentIntent.id)
        .join(PaymentIntent)
        .join(Wallet, JOIN.LEFT_OUTER)
        .where(
            Collection.stray == literal(""),
            (Collection.chain_id != PaymentIntent.chain_id)
            | (Collection.token_address != PaymentIntent.token_address)
            | PaymentIntent.token_address.is_null()
            | Collection.recipient.not_in((Wallet.owner, Wallet.gathering)),
        )
    )
    query = of_tenant(query, PaymentIntent, scope.tenant_id).order_by(PaymentIntent.id)
    misfits: Iterable[Any] = query.limit(BREACHES_PER_RULE).tuples()
    for collection, intent in misfits:
        yield [collection, intent], "its chain, token or recipient is not that of its intent"


RULES: dict[str, Callable[[Scope], Rows]] = {
    rule.__name__: rule
    for rule in (
        stock_rules.stock_within_capacity,
        stock_rules.held_is_live,
        stock_rules.pool_agrees,
        stock_rules.waiting_agrees,
        stock_rules.idle_agrees,
        stock_rules.sold_is_admitted,
        stock_rules.event_stock_agrees,
        reconciled_vouchers.voucher_usages_match,
        stock_rules.admissions_match,
        stock_rules.items_add_up,
        stock_rules.admissions_valid_while_confirmed,
        payments_fit_intents,
        received_is_payments,
        refunded_is_refunds,
        refunded_seats_are_void,
        seats_add_up,
        every_unit_accounted,
        reconciled_strays.strays_fit_intents,
        reconciled_strays.stray_received_is_payments,
        reconciled_strays.stray_refunded_is_refunds,
        reconciled_strays.every_stray_unit_accounted,
        reconciled_strays.collections_fit_strays,
        one_address_one_intent,
        collections_fit_intents,
    )
}
"""The rules by name. Names are stable: the API shows them."""
