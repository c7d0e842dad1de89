"""Reconciliation: rules that must always hold for stock and money, checked in the database.

Each rule is one SQL statement. It sees one consistent state, so it is correct while buyers order
and the worker writes. First, one query over the ticket types and one over the intents find the
rows that may violate a rule. Usually there are none. Then the rules check only these rows.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.ticket_types import TicketType
from ticketing.services.payments import reconciled_admissions, reconciled_money, reconciled_stock
from ticketing.services.payments.reconciled_rows import Found, Scope, doubtful, of_tenant


@dataclass(frozen=True)
class Breach:
    """A violation of a rule: the rule, the ids of the inconsistent rows, and what was found."""

    rule: str
    ids: list[str]
    detail: str


RULES: dict[str, Callable[[Scope], Found]] = {
    "stock_within_capacity": reconciled_stock.stock_within_capacity,
    "held_is_live": reconciled_stock.held_is_live,
    "sold_is_admitted": reconciled_stock.sold_is_admitted,
    "event_stock_agrees": reconciled_stock.event_stock_agrees,
    "admissions_match": reconciled_admissions.admissions_match,
    "admissions_valid_while_confirmed": reconciled_admissions.admissions_valid_while_confirmed,
    "received_is_payments": reconciled_money.received_is_payments,
    "refunded_is_refunds": reconciled_money.refunded_is_refunds,
    "refunded_seats_are_void": reconciled_admissions.refunded_seats_are_void,
    "every_unit_accounted": reconciled_money.every_unit_accounted,
    "one_address_one_intent": reconciled_money.one_address_one_intent,
    "payments_fit_intents": reconciled_money.payments_fit_intents,
}
"""The rules by name. Names are stable."""


def reconcile(tenant_id: str | None) -> list[Breach]:
    """Return the breaches of one tenant, or of all (None). Empty: everything is consistent."""
    of_intents = reconciled_admissions.is_doubtful() | reconciled_money.is_doubtful()
    scope = Scope(
        tenant_id,
        doubtful(TicketType, reconciled_stock.is_doubtful(), tenant_id),
        doubtful(PaymentIntent, of_intents, tenant_id),
    )
    return [
        Breach(rule, found_ids, detail)
        for rule, look in RULES.items()
        for found_ids, detail in look(scope)
    ]


def count_intents(tenant_id: str | None) -> int:
    """Return how many intents the reconciliation covers."""
    return int(of_tenant(PaymentIntent.select(), PaymentIntent, tenant_id).count())
