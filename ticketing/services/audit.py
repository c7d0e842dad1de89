"""The audit: what must always hold of stock and money, asked of the database itself.

A rule is one statement. It therefore sees one moment of the books, and is right while buyers buy
and the worker books.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from peewee import JOIN, Case, Field, ModelSelect, fn

from ticketing.chain import units
from ticketing.constants import LIVE, MICRO_UNIT_DECIMALS, SOLD, AdmissionStatus, IntentStatus
from ticketing.models.admissions import Admission
from ticketing.models.payment_intents import Payment, PaymentIntent, Refund
from ticketing.models.ticket_types import TicketType

BREACHES_PER_RULE = 100
"""No more of one rule are told: who reads them mends the cause, not the rows."""

Found = Iterable[tuple[list[str], str]]
"""Breaches of one rule: the ids of what is wrong, and a sentence on it."""

Owned = TicketType | PaymentIntent
"""What belongs to a tenant."""


@dataclass(frozen=True)
class Breach:
    """A rule that does not hold, for what it does not hold, and what was found instead."""

    rule: str
    ids: list[str]
    detail: str


def audit(tenant_id: str | None) -> list[Breach]:
    """Return where the books are wrong, of one tenant or of all; an empty list: nowhere."""
    return [
        Breach(rule, found_ids, detail)
        for rule, look in RULES.items()
        for found_ids, detail in look(tenant_id)
    ]


def count_intents(tenant_id: str | None) -> int:
    """Return how many intents an audit speaks for."""
    return int(_of_tenant(PaymentIntent.select(), PaymentIntent, tenant_id).count())


def _stock_within_capacity(tenant_id: str | None) -> Found:
    held, sold, capacity = TicketType.held, TicketType.sold, TicketType.capacity
    query = TicketType.select(TicketType.id, held, sold, capacity).where(
        (held < 0) | (sold < 0) | (held + sold > capacity)
    )
    for ticket_type, *numbers in _first(query, TicketType, tenant_id):
        yield [ticket_type], "{} are held and {} sold of {}".format(*numbers)


def _held_is_live(tenant_id: str | None) -> Found:
    for ticket_type, held, live in _stock_differs(TicketType.held, LIVE, tenant_id):
        yield [ticket_type], f"{held} are held, but live intents hold {live}"


def _sold_is_confirmed(tenant_id: str | None) -> Found:
    for ticket_type, sold, confirmed in _stock_differs(TicketType.sold, SOLD, tenant_id):
        yield [ticket_type], f"{sold} are sold, but confirmed intents bought {confirmed}"


def _stock_differs(
    column: Field[Any], statuses: Sequence[IntentStatus], tenant_id: str | None
) -> Iterable[Any]:
    ticket_type = PaymentIntent.ticket_type
    query = PaymentIntent.select(ticket_type, fn.SUM(PaymentIntent.quantity).alias("quantity"))
    query = query.where(PaymentIntent.status.in_(statuses)).group_by(ticket_type)
    sums = _of_tenant(query, PaymentIntent, tenant_id).alias("sums")
    expected = fn.COALESCE(sums.c.quantity, 0)
    differing = (
        TicketType.select(TicketType.id, column, expected)
        .join(sums, JOIN.LEFT_OUTER, on=(sums.c.ticket_type_id == TicketType.id))
        .where(column != expected)
    )
    return _first(differing, TicketType, tenant_id)


def _admissions_match(tenant_id: str | None) -> Found:
    quantity, confirmed_at = PaymentIntent.quantity, PaymentIntent.confirmed_at
    issued = fn.COUNT(Admission.id)
    expected = Case(None, [(confirmed_at.is_null(), 0)], quantity)
    unmarked = PaymentIntent.status.in_(SOLD) & confirmed_at.is_null()
    query = (
        PaymentIntent.select(PaymentIntent.id, PaymentIntent.status, issued, expected)
        .join(Admission, JOIN.LEFT_OUTER, on=(Admission.intent == PaymentIntent.id))
        .group_by(PaymentIntent.id)
        .having((issued != expected) | unmarked)
    )
    for intent, status, count, due in _first(query, PaymentIntent, tenant_id):
        yield [intent], f"a {status} intent has {count} admissions, {due} by its confirmed_at"


def _admissions_valid_while_confirmed(tenant_id: str | None) -> Found:
    confirmed = PaymentIntent.status == IntentStatus.CONFIRMED
    expected = Case(None, [(confirmed, AdmissionStatus.VALID)], AdmissionStatus.SUSPENDED)
    query = (
        Admission.select(Admission.id, Admission.status, PaymentIntent.id, PaymentIntent.status)
        .join(PaymentIntent)
        .where(Admission.status != expected)
    )
    for admission, status, intent, of in _first(query, PaymentIntent, tenant_id):
        yield [admission, intent], f"the admission is {status}, its intent {of}"


def _received_is_payments(tenant_id: str | None) -> Found:
    decimals = range(MICRO_UNIT_DECIMALS + 1, units.MAX_DECIMALS + 1)
    per_micro_unit = Case(
        PaymentIntent.token_decimals, [(n, 10 ** (n - MICRO_UNIT_DECIMALS)) for n in decimals], 1
    )
    total = _total(Payment.amount) + _total(Payment.dust) / per_micro_unit
    paid = (Payment.intent == PaymentIntent.id) & (Payment.canonical == True)  # noqa: E712
    query = (
        PaymentIntent.select(PaymentIntent.id, PaymentIntent.amount_received, total)
        .join(Payment, JOIN.LEFT_OUTER, on=paid)
        .group_by(PaymentIntent.id)
        .having(PaymentIntent.amount_received != total)
    )
    for intent, received, sum_ in _first(query, PaymentIntent, tenant_id):
        yield [intent], f"amount_received is {received}, its payments add up to {sum_}"


def _refunded_is_refunds(tenant_id: str | None) -> Found:
    total = _total(Refund.amount)
    query = (
        PaymentIntent.select(PaymentIntent.id, PaymentIntent.refunded, total)
        .join(Refund, JOIN.LEFT_OUTER, on=(Refund.intent == PaymentIntent.id))
        .group_by(PaymentIntent.id)
        .having(PaymentIntent.refunded != total)
    )
    for intent, refunded, sum_ in _first(query, PaymentIntent, tenant_id):
        yield [intent], f"refunded is {refunded}, its refunds add up to {sum_}"


def _every_unit_accounted(tenant_id: str | None) -> Found:
    status, amount = PaymentIntent.status, PaymentIntent.amount
    ended = status.in_([IntentStatus.EXPIRED, IntentStatus.CANCELED])
    kept = PaymentIntent.amount_received - PaymentIntent.refunded
    beyond = kept - Case(None, [(ended, 0)], amount)
    # Nothing is due where a reorganization took away more than is left, or what was given back.
    due = Case(None, [(beyond > 0, beyond)], 0)
    unpaid = (status == IntentStatus.CONFIRMED) & (kept < amount)
    query = PaymentIntent.select(
        *(PaymentIntent.id, status, amount, PaymentIntent.amount_received),
        *(PaymentIntent.refunded, PaymentIntent.refund_due, due),
    ).where((PaymentIntent.refund_due != due) | unpaid)
    for intent, *numbers in _first(query, PaymentIntent, tenant_id):
        yield (
            [intent],
            "a {} intent of {} has received {} and refunded {}:"
            " its refund_due is {}, not {}".format(*numbers),
        )


def _one_address_one_intent(tenant_id: str | None) -> Found:
    # The database itself refuses the same spelling; an address is the same in any.
    address = fn.LOWER(PaymentIntent.address)
    first, last = fn.MIN(PaymentIntent.id), fn.MAX(PaymentIntent.id)
    query = (
        PaymentIntent.select(address, fn.COUNT(PaymentIntent.id), first, last)
        .where(PaymentIntent.address.is_null(False))
        .group_by(address)
        .having(fn.COUNT(PaymentIntent.id) > 1)
    )
    for shared, count, *ends in _first(query, PaymentIntent, tenant_id, first):
        yield ends, f"{shared} serves {count} intents"


def _payments_fit_intents(tenant_id: str | None) -> Found:
    query = (
        Payment.select(Payment.id, Payment.chain_id, PaymentIntent.id, PaymentIntent.chain_id)
        .join(PaymentIntent)
        .where(PaymentIntent.chain_id.is_null() | (Payment.chain_id != PaymentIntent.chain_id))
    )
    for payment, chain, intent, of in _first(query, PaymentIntent, tenant_id):
        yield [payment, intent], f"the payment is on chain {chain}, its intent on {of}"


RULES: dict[str, Callable[[str | None], Found]] = {
    "stock_within_capacity": _stock_within_capacity,
    "held_is_live": _held_is_live,
    "sold_is_confirmed": _sold_is_confirmed,
    "admissions_match": _admissions_match,
    "admissions_valid_while_confirmed": _admissions_valid_while_confirmed,
    "received_is_payments": _received_is_payments,
    "refunded_is_refunds": _refunded_is_refunds,
    "every_unit_accounted": _every_unit_accounted,
    "one_address_one_intent": _one_address_one_intent,
    "payments_fit_intents": _payments_fit_intents,
}
"""Each rule by its name, which stays what it is."""


def _total(column: Field[Any]) -> Any:
    # Postgres makes a numeric of a sum of bigints, whose division would not be a whole number.
    return fn.COALESCE(fn.SUM(column), 0).cast("BIGINT")


def _first(
    query: ModelSelect[Any], model: type[Owned], tenant_id: str | None, order: Any = None
) -> Iterable[Any]:
    """Return the first rows as tuples, by `order` or else by the id of `model`."""
    query = _of_tenant(query, model, tenant_id).order_by(model.id if order is None else order)
    return query.limit(BREACHES_PER_RULE).tuples()


def _of_tenant(
    query: ModelSelect[Any], model: type[Owned], tenant_id: str | None
) -> ModelSelect[Any]:
    """Keep the rows of `model` that belong to a tenant, if one is given."""
    return query if tenant_id is None else query.where(model.tenant == tenant_id)
