"""Reconciliation: rules that must always hold for stock and money, checked in the database.

Each rule is one SQL statement. It sees one consistent state, so it is correct while buyers order
and the worker writes. First, one query over the ticket types and one over the intents find the
rows that may violate a rule. Usually there are none. Then the rules check only these rows.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.ticket_types import TicketType
from ticketing.services.payments import admission_rules, money_rules, stock_rules
from ticketing.services.payments.reconciled_rows import Found, Scope, doubtful, of_tenant


@dataclass(frozen=True)
class Breach:
    """A violation of a rule: the rule, the ids of the inconsistent rows, and what was found."""

    rule: str
    ids: list[str]
    detail: str


RULES: dict[str, Callable[[Scope], Found]] = {
    "stock_within_capacity": stock_rules.stock_within_capacity,
    "held_is_live": stock_rules.held_is_live,
    "sold_is_admitted": stock_rules.sold_is_admitted,
    "event_stock_agrees": stock_rules.event_stock_agrees,
    "admissions_match": admission_rules.admissions_match,
    "admissions_valid_while_confirmed": admission_rules.admissions_valid_while_confirmed,
    "received_is_payments": money_rules.received_is_payments,
    "refunded_is_refunds": money_rules.refunded_is_refunds,
    "refunded_seats_are_void": admission_rules.refunded_seats_are_void,
    "every_unit_accounted": money_rules.every_unit_accounted,
    "one_address_one_intent": money_rules.one_address_one_intent,
    "payments_fit_intents": money_rules.payments_fit_intents,
}
"""The rules by name. Names are stable."""


def reconcile(tenant_id: str | None) -> list[Breach]:
    """Return the breaches of one tenant, or of all (None). Empty: everything is consistent."""
    of_intents = admission_rules.is_doubtful() | money_rules.is_doubtful()
    scope = Scope(
        tenant_id,
        doubtful(TicketType, stock_rules.is_doubtful(), tenant_id),
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
