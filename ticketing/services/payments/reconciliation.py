"""Reconciliation: rules that must always hold for stock and money, checked in the database.

Each rule is one SQL statement. It sees one consistent state, so it is correct while buyers order
and the worker writes. First, one query over the ticket types and one over the intents find the
rows that may violate a rule. Usually there are none. Then the rules check only these rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from peewee import JOIN, Case, Field, ModelSelect, fn

from ticketing.chain import units
from ticketing.constants import LIVE, MICRO_UNIT_DECIMALS, SOLD, AdmissionStatus, IntentStatus
from ticketing.models.admissions import Admission
from ticketing.models.payment_intents import Payment, PaymentIntent
from ticketing.models.refunds import Refund
from ticketing.models.ticket_types import TicketType

BREACHES_PER_RULE = 100
"""The most breaches per rule. The reader needs examples to find the cause, not every row."""

Found = Iterable[tuple[list[str], str]]
"""Breaches of one rule: the ids of the inconsistent rows, and a description."""

Owned = TicketType | PaymentIntent
"""Models that belong to a tenant."""


@dataclass(frozen=True)
class Breach:
    """A violation of a rule: the rule, the ids of the inconsistent rows, and what was found."""

    rule: str
    ids: list[str]
    detail: str


@dataclass(frozen=True)
class Scope:
    """What to check: one tenant, or all (None).

    `ticket_types` and `intents`: the only rows that may be inconsistent. None: all may be.
    """

    tenant_id: str | None
    ticket_types: Sequence[str] | None
    intents: Sequence[str] | None


def reconcile(tenant_id: str | None) -> list[Breach]:
    """Return the breaches of one tenant, or of all (None). Empty: everything is consistent."""
    scope = Scope(
        tenant_id,
        _doubtful(TicketType, _stock_is_doubtful(), tenant_id),
        _doubtful(PaymentIntent, _intent_is_doubtful(), tenant_id),
    )
    return [
        Breach(rule, found_ids, detail)
        for rule, look in RULES.items()
        for found_ids, detail in look(scope)
    ]


def count_intents(tenant_id: str | None) -> int:
    """Return how many intents the reconciliation covers."""
    return int(_of_tenant(PaymentIntent.select(), PaymentIntent, tenant_id).count())


_CONFIRMED = PaymentIntent.status == IntentStatus.CONFIRMED

_SEATS_DUE = Case(None, [(PaymentIntent.confirmed_at.is_null(), 0)], PaymentIntent.quantity)
_UNMARKED = PaymentIntent.status.in_(SOLD) & PaymentIntent.confirmed_at.is_null()
_ADMISSION_STATUS = Case(None, [(_CONFIRMED, AdmissionStatus.VALID)], AdmissionStatus.SUSPENDED)
_FITS = (Admission.status == _ADMISSION_STATUS) | (Admission.status == AdmissionStatus.VOID)

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


_OUT_OF_BOUNDS = (
    (TicketType.held < 0)
    | (TicketType.sold < 0)
    | (TicketType.held + TicketType.sold > TicketType.capacity)
)


def _stock_is_doubtful() -> Any:
    held, sold = _ordered(), _admitted()
    return _OUT_OF_BOUNDS | (TicketType.held != held) | (TicketType.sold != sold)


def _intent_is_doubtful() -> Any:
    of = PaymentIntent.id
    strange = fn.SUM(Case(None, [(_FITS, 0)], 1))
    # Count a status instead of an id: it is in the index, so no table row is read.
    seats = Case(None, [(strange > 0, -1)], fn.COUNT(Admission.status))
    abroad = fn.SUM(Case(None, [(Payment.chain_id == PaymentIntent.chain_id, 0)], 1))
    received = Case(None, [(abroad > 0, -1)], _received())
    refunded = _refunded()
    return (
        _UNMARKED
        | _UNACCOUNTED
        | (Admission.select(seats).where(Admission.intent == of) != _SEATS_DUE)
        | (Payment.select(received).where(Payment.intent == of) != PaymentIntent.amount_received)
        | (Refund.select(refunded).where(Refund.intent == of) != PaymentIntent.refunded)
        | (_voided_with_refund() != PaymentIntent.seats_refunded)
    )


def _doubtful(model: type[Owned], doubt: Any, tenant_id: str | None) -> Sequence[str] | None:
    """Return the ids of doubtful rows of `model`. None if there are too many to list."""
    query = _of_tenant(model.select(model.id).where(doubt), model, tenant_id)
    found = [row.id for row in query.limit(BREACHES_PER_RULE + 1)]
    return found if len(found) <= BREACHES_PER_RULE else None


def _stock_within_capacity(scope: Scope) -> Found:
    held, sold, capacity = TicketType.held, TicketType.sold, TicketType.capacity
    query = TicketType.select(TicketType.id, held, sold, capacity).where(_OUT_OF_BOUNDS)
    for ticket_type, *numbers in _first(query, TicketType, scope):
        yield [ticket_type], "{} are held and {} sold of {}".format(*numbers)


def _held_is_live(scope: Scope) -> Found:
    for ticket_type, held, live in _stock_differs(TicketType.held, _ordered(), scope):
        yield [ticket_type], f"{held} are held, but live intents hold {live}"


def _sold_is_admitted(scope: Scope) -> Found:
    for ticket_type, sold, admitted in _stock_differs(TicketType.sold, _admitted(), scope):
        yield [ticket_type], f"{sold} are sold, but {admitted} admissions are valid or suspended"


def _stock_differs(column: Field[Any], expected: Any, scope: Scope) -> Iterable[Any]:
    query = TicketType.select(TicketType.id, column, expected).where(column != expected)
    return _first(query, TicketType, scope)


def _ordered() -> Any:
    """Return the SQL sum of a ticket type's seats in live intents."""
    of_it = PaymentIntent.ticket_type == TicketType.id
    quantities = PaymentIntent.select(fn.SUM(PaymentIntent.quantity)).where(
        of_it, PaymentIntent.status.in_(LIVE)
    )
    return fn.COALESCE(quantities, 0)


def _admitted() -> Any:
    """Return the SQL count of a ticket type's admissions that are not void."""
    seats = (AdmissionStatus.VALID, AdmissionStatus.SUSPENDED)
    return Admission.select(fn.COUNT(Admission.status)).where(
        Admission.ticket_type == TicketType.id, Admission.status.in_(seats)
    )


def _admissions_match(scope: Scope) -> Found:
    issued = fn.COUNT(Admission.id)
    query = (
        PaymentIntent.select(PaymentIntent.id, PaymentIntent.status, issued, _SEATS_DUE)
        .join(Admission, JOIN.LEFT_OUTER, on=(Admission.intent == PaymentIntent.id))
        .group_by(PaymentIntent.id)
        .having((issued != _SEATS_DUE) | _UNMARKED)
    )
    for intent, status, count, due in _first(query, PaymentIntent, scope):
        yield [intent], f"a {status} intent has {count} admissions, {due} by its confirmed_at"


def _admissions_valid_while_confirmed(scope: Scope) -> Found:
    query = (
        Admission.select(Admission.id, Admission.status, PaymentIntent.id, PaymentIntent.status)
        .join(PaymentIntent)
        .where(~_FITS)
    )
    for admission, status, intent, of in _first(query, PaymentIntent, scope):
        yield [admission, intent], f"the admission is {status}, its intent {of}"


def _received_is_payments(scope: Scope) -> Found:
    total = _received()
    query = (
        PaymentIntent.select(PaymentIntent.id, PaymentIntent.amount_received, total)
        .join(Payment, JOIN.LEFT_OUTER, on=(Payment.intent == PaymentIntent.id))
        .group_by(PaymentIntent.id)
        .having(PaymentIntent.amount_received != total)
    )
    for intent, received, sum_ in _first(query, PaymentIntent, scope):
        yield [intent], f"amount_received is {received}, its payments add up to {sum_}"


def _refunded_is_refunds(scope: Scope) -> Found:
    total = _refunded()
    query = (
        PaymentIntent.select(PaymentIntent.id, PaymentIntent.refunded, total)
        .join(Refund, JOIN.LEFT_OUTER, on=(Refund.intent == PaymentIntent.id))
        .group_by(PaymentIntent.id)
        .having(PaymentIntent.refunded != total)
    )
    for intent, refunded, sum_ in _first(query, PaymentIntent, scope):
        yield [intent], f"refunded is {refunded}, its refunds add up to {sum_}"


def _refunded_seats_are_void(scope: Scope) -> Found:
    voided = _voided_with_refund()
    query = PaymentIntent.select(PaymentIntent.id, PaymentIntent.seats_refunded, voided).where(
        PaymentIntent.seats_refunded != voided
    )
    for intent, seats, count in _first(query, PaymentIntent, scope):
        yield [intent], f"seats_refunded is {seats}, but {count} were voided with a refund"


def _every_unit_accounted(scope: Scope) -> Found:
    query = PaymentIntent.select(
        *(PaymentIntent.id, PaymentIntent.status, PaymentIntent.amount),
        *(PaymentIntent.amount_received, PaymentIntent.refunded),
        *(PaymentIntent.refund_due, PaymentIntent.refund_pending, _REFUND_DUE),
    ).where(_UNACCOUNTED)
    for intent, *numbers in _first(query, PaymentIntent, scope):
        yield (
            [intent],
            "a {} intent of {} has received {} and refunded {}:"
            " its refund_due is {} ({} of it pending), not {}".format(*numbers),
        )


def _one_address_one_intent(scope: Scope) -> Found:
    # A unique index rejects equal texts, but an address is the same in any case of letters.
    address = fn.LOWER(PaymentIntent.address)
    first, last = fn.MIN(PaymentIntent.id), fn.MAX(PaymentIntent.id)
    query = (
        PaymentIntent.select(address, fn.COUNT(PaymentIntent.id), first, last)
        .where(PaymentIntent.address.is_null(False))
        .group_by(address)
        .having(fn.COUNT(PaymentIntent.id) > 1)
    )
    query = _of_tenant(query, PaymentIntent, scope.tenant_id).order_by(first)
    found: Iterable[Any] = query.limit(BREACHES_PER_RULE).tuples()
    for shared, count, *ends in found:
        yield ends, f"{shared} serves {count} intents"


def _payments_fit_intents(scope: Scope) -> Found:
    query = (
        Payment.select(Payment.id, Payment.chain_id, PaymentIntent.id, PaymentIntent.chain_id)
        .join(PaymentIntent)
        .where(PaymentIntent.chain_id.is_null() | (Payment.chain_id != PaymentIntent.chain_id))
    )
    for payment, chain, intent, of in _first(query, PaymentIntent, scope):
        yield [payment, intent], f"the payment is on chain {chain}, its intent on {of}"


RULES: dict[str, Callable[[Scope], Found]] = {
    "stock_within_capacity": _stock_within_capacity,
    "held_is_live": _held_is_live,
    "sold_is_admitted": _sold_is_admitted,
    "admissions_match": _admissions_match,
    "admissions_valid_while_confirmed": _admissions_valid_while_confirmed,
    "received_is_payments": _received_is_payments,
    "refunded_is_refunds": _refunded_is_refunds,
    "refunded_seats_are_void": _refunded_seats_are_void,
    "every_unit_accounted": _every_unit_accounted,
    "one_address_one_intent": _one_address_one_intent,
    "payments_fit_intents": _payments_fit_intents,
}
"""The rules by name. Names are stable."""


def _received() -> Any:
    """Return the SQL sum of canonical payments, in micro-units."""
    counts = Payment.canonical == True  # noqa: E712
    amount = _total(Case(None, [(counts, Payment.amount)], 0))
    return amount + _total(Case(None, [(counts, Payment.dust)], 0)) / _DUST_PER_MICRO_UNIT


def _refunded() -> Any:
    """Return the SQL sum of canonical refunds, in micro-units."""
    counts = Refund.canonical == True  # noqa: E712
    return _total(Case(None, [(counts, Refund.amount)], 0))


def _voided_with_refund() -> Any:
    """Return the SQL count of an intent's admissions that were voided with a refund."""
    return Admission.select(fn.COUNT(Admission.id)).where(
        Admission.intent == PaymentIntent.id,
        Admission.void_refund == True,  # noqa: E712
    )


def _total(column: Any) -> Any:
    # In Postgres a sum of bigints is numeric, and its division would not be an integer division.
    return fn.COALESCE(fn.SUM(column), 0).cast("BIGINT")


def _first(query: ModelSelect[Any], model: type[Owned], scope: Scope) -> Iterable[Any]:
    """Return the first rows as tuples, ordered by the id of `model`. Only doubtful rows."""
    doubtful = scope.ticket_types if model is TicketType else scope.intents
    if doubtful == []:
        return []
    if doubtful is not None:
        query = query.where(model.id.in_(doubtful))
    query = _of_tenant(query, model, scope.tenant_id).order_by(model.id)
    return query.limit(BREACHES_PER_RULE).tuples()


def _of_tenant(
    query: ModelSelect[Any], model: type[Owned], tenant_id: str | None
) -> ModelSelect[Any]:
    """Restrict the query to rows of `model` that belong to a tenant, if one is given."""
    return query if tenant_id is None else query.where(model.tenant == tenant_id)
