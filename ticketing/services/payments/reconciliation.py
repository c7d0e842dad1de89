"""Reconciliation: rules that must always hold for stock and money, checked in the database.

1.  No more seats are held and sold than the capacity, of a ticket type and of an event.
2.  `held` is what live orders hold. `sold` is the admissions that are not void, guests included.
    The usages of vouchers are what these use.
3.  An order has as many admissions as its quantity once it was confirmed, else none. They are
    valid while it is confirmed, suspended while it is reversed, or void. Items add up to it.
4.  Each payment is on the chain of its account. What an account received is kept, open, owed, out
    of reach, refunded or waived. Nothing is kept but of an order's home. An order's amount is what
    its seats cost, and what it released is what they released.
5.  No address serves two orders.
6.  A collection is of an order with a receiver, on its chain and in its token. That no more was
    collected than received is no rule: a payment may have been collected before it was found.

stock_rules.py has the rules 1 to 3, reconciled_vouchers.py that of vouchers, reconciled_accounts.py
those of accounts, this file the others.
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

from peewee import Case, fn

from ticketing.constants import AdmissionStatus
from ticketing.models.admissions import Admission
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.ticket_types import TicketType
from ticketing.services.payments import reconciled_accounts, reconciled_vouchers, stock_rules
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
        reconciled_accounts.doubtful(tenant_id),
    )
    return [
        Breach(name, ids, detail) for name, rule in RULES.items() for ids, detail in rule(scope)
    ]


def count_intents(tenant_id: str | None) -> int:
    """Return how many intents the reconciliation covers."""
    return int(of_tenant(PaymentIntent.select(), PaymentIntent, tenant_id).count())


def _is_doubtful_intent() -> Any:
    """Return the SQL condition that finds intents that may violate a rule."""
    return stock_rules.is_doubtful_intent() | (_wrong_voids() > 0) | _seats_differ()


# 4. What an order's seats cost, and what they released, adds up.


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
        reconciled_accounts.intents_have_homes,
        reconciled_accounts.accounts_fit_intents,
        reconciled_accounts.received_is_payments,
        reconciled_accounts.refunded_is_refunds,
        refunded_seats_are_void,
        seats_add_up,
        reconciled_accounts.every_unit_accounted,
        one_address_one_intent,
        reconciled_accounts.collections_fit_intents,
    )
}
"""The rules by name. Names are stable: the API shows them."""
