"""Reconciliation: rules that must always hold for stock and money, checked in the database.

1.  No more seats are held and sold than the capacity, of a ticket type and of an event.
2.  `held` is what live orders hold. `sold` is the admissions that are not void, guests included.
3.  An order has as many admissions as its quantity once it was confirmed, else none. They are
    valid while it is confirmed, suspended while it is reversed, or void. Items add up to it.
4.  Each payment is on its order's chain. What an order received is kept, owed, refunded or waived.
    Its amount is what its seats cost, and what it released is what they released.
5.  No address serves two orders.
6.  A collection is of an order with a receiver, on its chain and in its token. That no more was
    collected than received is no rule: a payment may have been collected before it was found.

Each rule is one SQL statement. It sees one consistent state, so it is correct while buyers order
and the worker writes. First, one query over the ticket types and one over the orders find the
rows that may violate a rule. Usually there are none. Then the rules check only these rows.

That an address is its order's own is checked by address_check.py, because SQL cannot compute it.

Example: an order of 2 seats at 5 USDC received 13 USDC and is confirmed. It keeps 10, so its
`refund_due` must be 3. If the column says 0, the breach is `every_unit_accounted`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from peewee import JOIN, Case, Field, ModelSelect, fn

from ticketing.chain import units
from ticketing.constants import LIVE, MICRO_UNIT_DECIMALS, SOLD, AdmissionStatus, IntentStatus
from ticketing.models.admissions import COST, SEAT_RELEASED, Admission
from ticketing.models.collections import Collection
from ticketing.models.events import Event
from ticketing.models.items import IntentItem
from ticketing.models.payment_intents import RELEASED, Payment, PaymentIntent
from ticketing.models.refunds import Refund
from ticketing.models.ticket_types import EventStock, TicketType
from ticketing.models.wallets import Wallet

BREACHES_PER_RULE = 100
"""The most breaches per rule. The reader needs examples to find the cause, not every row."""

Rows = Iterable[tuple[list[str], str]]
"""Breaches of one rule: the ids of the inconsistent rows, and a description."""

Owned = Event | TicketType | PaymentIntent
"""Models that belong to a tenant."""


@dataclass(frozen=True)
class Breach:
    """A violation of a rule: the rule, the ids of the inconsistent rows, and what they contain."""

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
        _doubtful(TicketType, _is_doubtful_ticket_type(), tenant_id),
        _doubtful(PaymentIntent, _is_doubtful_intent(), tenant_id),
    )
    return [
        Breach(name, ids, detail) for name, rule in RULES.items() for ids, detail in rule(scope)
    ]


def count_intents(tenant_id: str | None) -> int:
    """Return how many intents the reconciliation covers."""
    return int(_of_tenant(PaymentIntent.select(), PaymentIntent, tenant_id).count())


def _is_doubtful_ticket_type() -> Any:
    """Return the SQL condition that finds ticket types that may violate a rule."""
    held, sold = _ordered(), _admitted()
    return _OUT_OF_BOUNDS | (TicketType.held != held) | (TicketType.sold != sold)


def _is_doubtful_intent() -> Any:
    """Return the SQL condition that finds intents that may violate a rule."""
    intent = PaymentIntent.id
    misfits = fn.SUM(Case(None, [(_FITS, 0)], 1))
    # Count a status instead of an id: it is in the index, so no table row is read.
    seats = Case(None, [(misfits > 0, -1)], fn.COUNT(Admission.status))
    abroad = fn.SUM(Case(None, [(Payment.chain_id == PaymentIntent.chain_id, 0)], 1))
    received = Case(None, [(abroad > 0, -1)], _received())
    return (
        _UNMARKED
        | (Admission.select(seats).where(Admission.intent == intent) != _SEATS_DUE)
        | (_voided_with_refund() != PaymentIntent.seats_refunded)
        | _seats_differ()
        | _items_differ()
        | _UNACCOUNTED
        | (Payment.select(received).where(Payment.intent == intent) != _AMOUNT_RECEIVED)
        | (Refund.select(_refunded()).where(Refund.intent == intent) != PaymentIntent.refunded)
    )


def _doubtful(model: type[Owned], doubt: Any, tenant_id: str | None) -> Sequence[str] | None:
    """Return the ids of doubtful rows of `model`. None if there are too many to list."""
    query = _of_tenant(model.select(model.id).where(doubt), model, tenant_id)
    ids = [row.id for row in query.limit(BREACHES_PER_RULE + 1)]
    return ids if len(ids) <= BREACHES_PER_RULE else None


def _first(query: ModelSelect[Any], model: type[Owned], scope: Scope) -> Iterable[Any]:
    """Return the first rows as tuples, ordered by the id of `model`. Only doubtful rows."""
    ids = {TicketType: scope.ticket_types, PaymentIntent: scope.intents}.get(model)
    if ids == []:
        return []
    if ids is not None:
        query = query.where(model.id.in_(ids))
    query = _of_tenant(query, model, scope.tenant_id).order_by(model.id)
    return query.limit(BREACHES_PER_RULE).tuples()


def _of_tenant(
    query: ModelSelect[Any], model: type[Owned], tenant_id: str | None
) -> ModelSelect[Any]:
    """Restrict the query to rows of `model` that belong to a tenant, if one is given."""
    return query if tenant_id is None else query.where(model.tenant == tenant_id)


# 1. No more is held and sold than there is.

_OUT_OF_BOUNDS = (
    (TicketType.held < 0)
    | (TicketType.sold < 0)
    | (TicketType.held + TicketType.sold > TicketType.capacity)
)


def stock_within_capacity(scope: Scope) -> Rows:
    """No more is held and sold than the capacity, and neither is negative."""
    held, sold, capacity = TicketType.held, TicketType.sold, TicketType.capacity
    query = TicketType.select(TicketType.id, held, sold, capacity).where(_OUT_OF_BOUNDS)
    for ticket_type, *numbers in _first(query, TicketType, scope):
        yield [ticket_type], "{} are held and {} sold of {}".format(*numbers)


# 2. What is held and sold is what orders hold and admissions fill.


def held_is_live(scope: Scope) -> Rows:
    """What is held is what live intents hold."""
    for ticket_type, held, live in _stock_differs(TicketType.held, _ordered(), scope):
        yield [ticket_type], f"{held} are held, but live intents hold {live}"


def sold_is_admitted(scope: Scope) -> Rows:
    """What is sold is the number of admissions that are not void, guests included."""
    for ticket_type, sold, admitted in _stock_differs(TicketType.sold, _admitted(), scope):
        yield [ticket_type], f"{sold} are sold, but {admitted} admissions are valid or suspended"


def event_stock_agrees(scope: Scope) -> Rows:
    """An event has its own stock exactly if it has a capacity: the sums of its ticket types.

    Rule 1 is checked here too: the event's capacity limits these sums.
    """
    held, sold = _sum(TicketType.held), _sum(TicketType.sold)
    disagrees = (
        (EventStock.capacity != Event.capacity)
        | EventStock.capacity.is_null()
        | Event.capacity.is_null()
        | (EventStock.held != held)
        | (EventStock.sold != sold)
        | (EventStock.held + EventStock.sold > EventStock.capacity)
    )
    counted = (EventStock.capacity, EventStock.held, EventStock.sold)
    query = (
        Event.select(Event.id, *counted, Event.capacity, held, sold)
        .join(EventStock, JOIN.LEFT_OUTER, on=(EventStock.event == Event.id))
        .where(Event.capacity.is_null(False) | EventStock.capacity.is_null(False), disagrees)
    )
    for event, *numbers in _first(query, Event, scope):
        yield (
            [event],
            "its own stock of {} has {} held and {} sold, the event of {} has {} and {}".format(
                *numbers
            ),
        )


def _stock_differs(column: Field[Any], expected: Any, scope: Scope) -> Iterable[Any]:
    query = TicketType.select(TicketType.id, column, expected).where(column != expected)
    return _first(query, TicketType, scope)


def _ordered() -> Any:
    """Return the SQL sum of a ticket type's seats in live intents."""
    of_it, is_live = PaymentIntent.ticket_type == TicketType.id, PaymentIntent.status.in_(LIVE)
    plain = PaymentIntent.select(fn.SUM(PaymentIntent.quantity)).where(
        of_it, is_live, ~PaymentIntent.has_items
    )
    of_items = (
        IntentItem.select(fn.SUM(IntentItem.quantity))
        .join(PaymentIntent)
        .where(IntentItem.ticket_type == TicketType.id, is_live)
    )
    return fn.COALESCE(plain, 0) + fn.COALESCE(of_items, 0)


def _admitted() -> Any:
    """Return the SQL count of a ticket type's admissions that are not void."""
    seats = (AdmissionStatus.VALID, AdmissionStatus.SUSPENDED)
    return Admission.select(fn.COUNT(Admission.status)).where(
        Admission.ticket_type == TicketType.id, Admission.status.in_(seats)
    )


def _sum(column: Field[Any]) -> Any:
    """Return the SQL sum of a column over the ticket types of admission of an event."""
    of_event = (TicketType.event == Event.id) & TicketType.admission
    return fn.COALESCE(TicketType.select(fn.SUM(column).cast("BIGINT")).where(of_event), 0)


# 3. An order has admissions once it was confirmed, and they are valid while it is.

_CONFIRMED = PaymentIntent.status == IntentStatus.CONFIRMED
_SEATS_DUE = Case(None, [(PaymentIntent.confirmed_at.is_null(), 0)], PaymentIntent.quantity)
_UNMARKED = PaymentIntent.status.in_(SOLD) & PaymentIntent.confirmed_at.is_null()
_ADMISSION_STATUS = Case(None, [(_CONFIRMED, AdmissionStatus.VALID)], AdmissionStatus.SUSPENDED)
_FITS = (Admission.status == _ADMISSION_STATUS) | (Admission.status == AdmissionStatus.VOID)


_PRICE = IntentItem.unit_amount * IntentItem.quantity
_SEATS = Admission.select(fn.COUNT(Admission.id)).where(
    Admission.intent == IntentItem.intent,
    Admission.ticket_type == IntentItem.ticket_type,
    Admission.amount == IntentItem.unit_amount,
)
_MISFIT = Case(
    None, [(PaymentIntent.confirmed_at.is_null() | (IntentItem.quantity == _SEATS), 0)], 1
)
"""1 for an item of a sold intent whose admissions are not as many, or not at its price."""


def items_add_up(scope: Scope) -> Rows:
    """An intent with items has their quantities and prices, and admissions of each once sold."""
    quantity, amount = _total(IntentItem.quantity), _total(_PRICE)
    query = (
        PaymentIntent.select(
            PaymentIntent.id, PaymentIntent.quantity, PaymentIntent.amount, quantity, amount
        )
        .join(IntentItem, JOIN.LEFT_OUTER, on=(IntentItem.intent == PaymentIntent.id))
        .where(PaymentIntent.has_items)
        .group_by(PaymentIntent.id)
        .having(
            (quantity != PaymentIntent.quantity)
            | (amount != PaymentIntent.amount)
            | (_total(_MISFIT) > 0)
        )
    )
    for intent, *numbers in _first(query, PaymentIntent, scope):
        yield (
            [intent],
            "an intent of {} seats for {} has items of {} for {},"
            " or not the admissions of each".format(*numbers),
        )


def _items_differ() -> Any:
    """Return the SQL condition that an intent's items are not what the intent says."""
    of_it = IntentItem.intent == PaymentIntent.id
    differs = (_total(IntentItem.quantity) != PaymentIntent.quantity) | (
        _total(_PRICE) != PaymentIntent.amount
    )
    wrong = IntentItem.select(Case(None, [(differs | (_total(_MISFIT) > 0), 1)], 0)).where(of_it)
    return PaymentIntent.has_items & (wrong == 1)


def admissions_match(scope: Scope) -> Rows:
    """An intent has as many admissions as its quantity, once it was confirmed."""
    issued = fn.COUNT(Admission.id)
    query = (
        PaymentIntent.select(PaymentIntent.id, PaymentIntent.status, issued, _SEATS_DUE)
        .join(Admission, JOIN.LEFT_OUTER, on=(Admission.intent == PaymentIntent.id))
        .group_by(PaymentIntent.id)
        .having((issued != _SEATS_DUE) | _UNMARKED)
    )
    for intent, status, count, due in _first(query, PaymentIntent, scope):
        yield [intent], f"a {status} intent has {count} admissions, {due} by its confirmed_at"


def admissions_valid_while_confirmed(scope: Scope) -> Rows:
    """Admissions are valid while their intent is confirmed, else suspended; or they are void."""
    query = (
        Admission.select(Admission.id, Admission.status, PaymentIntent.id, PaymentIntent.status)
        .join(PaymentIntent)
        .where(~_FITS)
    )
    for admission, status, intent, intent_status in _first(query, PaymentIntent, scope):
        yield [admission, intent], f"the admission is {status}, its intent {intent_status}"


# 4. A payment belongs to one order; what an order received is kept, owed, refunded or waived.

_AMOUNT_RECEIVED = PaymentIntent.amount_received
_DECIMALS = range(MICRO_UNIT_DECIMALS + 1, units.MAX_DECIMALS + 1)
# A token of 18 decimals: 10^12 atomic units of dust make one micro-unit.
_DUST_PER_MICRO_UNIT = Case(
    PaymentIntent.token_decimals, [(n, 10 ** (n - MICRO_UNIT_DECIMALS)) for n in _DECIMALS], 1
)
_ENDED = PaymentIntent.status.in_([IntentStatus.EXPIRED, IntentStatus.CANCELED])
_COUNTED = _AMOUNT_RECEIVED - PaymentIntent.refunded - PaymentIntent.waived
_SOLD_FOR = PaymentIntent.amount - RELEASED
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


def payments_fit_intents(scope: Scope) -> Rows:
    """A payment is on the chain of its intent."""
    query = (
        Payment.select(Payment.id, Payment.chain_id, PaymentIntent.id, PaymentIntent.chain_id)
        .join(PaymentIntent)
        .where(PaymentIntent.chain_id.is_null() | (Payment.chain_id != PaymentIntent.chain_id))
    )
    for payment, chain, intent, intent_chain in _first(query, PaymentIntent, scope):
        yield [payment, intent], f"the payment is on chain {chain}, its intent on {intent_chain}"


def received_is_payments(scope: Scope) -> Rows:
    """What an intent received is the sum of its payments."""
    total = _received()
    query = (
        PaymentIntent.select(PaymentIntent.id, _AMOUNT_RECEIVED, total)
        .join(Payment, JOIN.LEFT_OUTER, on=(Payment.intent == PaymentIntent.id))
        .group_by(PaymentIntent.id)
        .having(total != _AMOUNT_RECEIVED)
    )
    for intent, received, sum_ in _first(query, PaymentIntent, scope):
        yield [intent], f"amount_received is {received}, its payments add up to {sum_}"


def refunded_is_refunds(scope: Scope) -> Rows:
    """What was refunded is the sum of its refunds."""
    total = _refunded()
    query = (
        PaymentIntent.select(PaymentIntent.id, PaymentIntent.refunded, total)
        .join(Refund, JOIN.LEFT_OUTER, on=(Refund.intent == PaymentIntent.id))
        .group_by(PaymentIntent.id)
        .having(PaymentIntent.refunded != total)
    )
    for intent, refunded, sum_ in _first(query, PaymentIntent, scope):
        yield [intent], f"refunded is {refunded}, its refunds add up to {sum_}"


def refunded_seats_are_void(scope: Scope) -> Rows:
    """An intent's refunded seats are its admissions that were voided with a refund."""
    voided = _voided_with_refund()
    query = PaymentIntent.select(PaymentIntent.id, PaymentIntent.seats_refunded, voided).where(
        PaymentIntent.seats_refunded != voided
    )
    for intent, seats, count in _first(query, PaymentIntent, scope):
        yield [intent], f"seats_refunded is {seats}, but {count} were voided with a refund"


def seats_add_up(scope: Scope) -> Rows:
    """An intent's amount is what its seats cost, and what they released adds up.

    No seat releases more than it cost.
    """
    cost, released = _sum_of_seats(COST), _sum_of_seats(SEAT_RELEASED)
    query = PaymentIntent.select(
        PaymentIntent.id, PaymentIntent.amount, cost, RELEASED, released
    ).where(_seats_differ())
    for intent, *numbers in _first(query, PaymentIntent, scope):
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
    for intent, *numbers in _first(query, PaymentIntent, scope):
        yield (
            [intent],
            "a {} intent of {} has received {} and refunded {}:"
            " its refund_due is {} ({} of it pending), not {}".format(*numbers),
        )


def _received() -> Any:
    """Return the SQL sum of canonical payments, in micro-units."""
    amount = _total(Case(None, [(Payment.canonical, Payment.amount)], 0))
    dust = _total(Case(None, [(Payment.canonical, Payment.dust)], 0))
    return amount + dust / _DUST_PER_MICRO_UNIT


def _refunded() -> Any:
    """Return the SQL sum of canonical refunds, in micro-units."""
    return _total(Case(None, [(Refund.canonical, Refund.amount)], 0))


def _voided_with_refund() -> Any:
    """Return the SQL count of an intent's admissions that were voided with a refund."""
    return Admission.select(fn.COUNT(Admission.id)).where(
        Admission.intent == PaymentIntent.id,
        Admission.void_refund,
    )


def _seats_differ() -> Any:
    """Return the SQL condition that an intent's amounts are not those of its admissions."""
    bad = (Admission.released < 0) | (SEAT_RELEASED > COST)
    released = Case(None, [(fn.SUM(Case(None, [(bad, 1)], 0)) > 0, -1)], _total(SEAT_RELEASED))
    was_sold = PaymentIntent.confirmed_at.is_null(False)
    return (was_sold & (_sum_of_seats(COST) != PaymentIntent.amount)) | (
        Admission.select(released).where(Admission.intent == PaymentIntent.id) != RELEASED
    )


def _sum_of_seats(column: Any) -> Any:
    """Return the SQL sum of a column over an intent's admissions."""
    return Admission.select(_total(column)).where(Admission.intent == PaymentIntent.id)


def _total(column: Any) -> Any:
    # In Postgres a sum of bigints is numeric, and its division would not be an integer division.
    return fn.COALESCE(fn.SUM(column), 0).cast("BIGINT")


# 5. No address serves two orders.


def one_address_one_intent(scope: Scope) -> Rows:
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
    query = _of_tenant(query, PaymentIntent, scope.tenant_id).order_by(first)
    shared: Iterable[Any] = query.limit(BREACHES_PER_RULE).tuples()
    for address, count, *ids in shared:
        yield ids, f"{address} serves {count} intents"


# 6. A collection is what a receiver sent.


def collections_fit_intents(scope: Scope) -> Rows:
    """A collection is on the chain and in the token of its intent, whose address is a receiver."""
    # An intent is not looked up for its collections: these are fewer.
    query = (
        Collection.select(Collection.id, PaymentIntent.id)
        .join(PaymentIntent)
        .join(Wallet, JOIN.LEFT_OUTER)
        .where(
            (Collection.chain_id != PaymentIntent.chain_id)
            | (Collection.token_address != PaymentIntent.token_address)
            | PaymentIntent.token_address.is_null()
            | Wallet.owner.is_null()
        )
    )
    query = _of_tenant(query, PaymentIntent, scope.tenant_id).order_by(PaymentIntent.id)
    misfits: Iterable[Any] = query.limit(BREACHES_PER_RULE).tuples()
    for collection, intent in misfits:
        yield [collection, intent], "its chain, token or wallet is not that of its intent"


RULES: dict[str, Callable[[Scope], Rows]] = {
    rule.__name__: rule
    for rule in (
        stock_within_capacity,
        held_is_live,
        sold_is_admitted,
        event_stock_agrees,
        admissions_match,
        items_add_up,
        admissions_valid_while_confirmed,
        payments_fit_intents,
        received_is_payments,
        refunded_is_refunds,
        refunded_seats_are_void,
        seats_add_up,
        every_unit_accounted,
        one_address_one_intent,
        collections_fit_intents,
    )
}
"""The rules by name. Names are stable: the API shows them."""
