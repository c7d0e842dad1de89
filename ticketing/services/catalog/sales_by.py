"""What was sold of an event by ticket type, by voucher and by the tag of vouchers.

The figures are of the seats of confirmed orders, as they are now:

    orders      orders with at least one of these seats
    tickets     valid seats that let somebody in, of orders. None that was voided
    merchandise     the same of ticket types that let nobody in
    guests      valid seats that were given away. Only by ticket type
    amount      what the seats cost, also those that were voided
    discount    how much less than their list prices that is
    kept        the amount less what was released by voids and less what was forgiven: that is
                counted at the first seats of an order. The sum over all ticket types is what these
                orders keep

By voucher and by tag, only seats count that used the voucher. A seat is of one ticket type, so
nothing counts twice; but an order of two types is one order of each.

Example: an order has 2 tickets at 25 with a voucher of 20 %, and a shirt at 15. The ticket type
has 1 order, 2 tickets, amount 40, discount 10. One ticket is voided with a refund: 1 ticket, kept
20, and the amount stays 40.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from peewee import JOIN, SQL, Case, ModelSelect, fn

from ticketing.constants import AdmissionStatus, IntentStatus, SalesBy
from ticketing.models.admissions import SEAT_KEPT, Admission
from ticketing.models.base import literal
from ticketing.models.events import only_event
from ticketing.models.items import IntentItem, is_of_seat
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.prepared import Prepared
from ticketing.models.ticket_types import TicketType
from ticketing.models.vouchers import Voucher
from ticketing.services.catalog import sales_figures
from ticketing.services.catalog.sales_figures import SalesOfDay

MOST = 500
"""How many vouchers or tags are returned at most: those with the largest amounts."""


@dataclass(frozen=True)
class SeatFigures:
    """What was sold of something: see the module's docstring. Amounts are micro-units."""

    orders: int
    tickets: int
    merchandise: int
    guests: int
    amount: int
    discount_amount: int
    kept: int


@dataclass(frozen=True)
class SalesOfTicketType(SeatFigures):
    """What was sold of one ticket type."""

    ticket_id: str
    name: str


@dataclass(frozen=True)
class SalesOfVoucher(SeatFigures):
    """What was sold with one voucher. `code` is None for those who may not see codes."""

    voucher_id: str
    code: str | None
    tag: str | None


@dataclass(frozen=True)
class SalesOfTag(SeatFigures):
    """What was sold with all vouchers of one tag. `tag` None: vouchers without one."""

    tag: str | None


_IS_SOLD = PaymentIntent.status == literal(IntentStatus.CONFIRMED)
_IS_VALID = Admission.status == literal(AdmissionStatus.VALID)
_IS_GUEST = Admission.intent.is_null()
_DISCOUNT = IntentItem.list_amount - IntentItem.unit_amount


def _sum(condition: Any, value: Any = 1) -> Any:
    return fn.COALESCE(fn.SUM(Case(None, [(condition, value)], 0)), 0)


def _figures(admission: Any) -> tuple[Any, ...]:
    """Return the columns of SeatFigures. `admission`: the seat lets somebody in."""
    return (
        fn.COUNT(fn.DISTINCT(Case(None, [(_IS_SOLD, PaymentIntent.id)]))),
        _sum(_IS_SOLD & _IS_VALID & admission),
        _sum(_IS_SOLD & _IS_VALID & ~admission),
        _sum(_IS_GUEST & _IS_VALID),
        _sum(_IS_SOLD, Admission.amount).alias("amount"),
        _sum(_IS_SOLD & (_DISCOUNT > 0), _DISCOUNT),
        _sum(_IS_SOLD, SEAT_KEPT),
    )


@Prepared
def _by_ticket_type(event_id: Any) -> ModelSelect[Admission]:
    key = (TicketType.id, TicketType.name)
    return (
        Admission.select(*_figures(TicketType.admission), *key)
        .join(TicketType)
        .join_from(Admission, PaymentIntent, JOIN.LEFT_OUTER)
        .join_from(Admission, IntentItem, JOIN.LEFT_OUTER, on=is_of_seat())
        .where(Admission.event == event_id)
        .group_by(*key, TicketType.position)
        .order_by(TicketType.position, TicketType.id)
    )


def _with_voucher(event_id: Any, *key: Any) -> ModelSelect[Voucher]:
    """Select the figures of the seats that used a voucher of an event, grouped by `key`."""
    return (
        Voucher.select(*_figures(IntentItem.admission), *key)
        .join(PaymentIntent, on=(PaymentIntent.voucher == Voucher.id))
        .join_from(PaymentIntent, Admission, on=(Admission.intent == PaymentIntent.id))
        .join_from(Admission, IntentItem, on=is_of_seat())
        .where(Voucher.event == event_id, IntentItem.vouchered, _IS_SOLD)
        .group_by(*key)
        .order_by(SQL("amount").desc(), key[0])
        .limit(MOST)
    )


@Prepared
def _by_voucher(event_id: Any) -> ModelSelect[Voucher]:
    return _with_voucher(event_id, Voucher.id, Voucher.code, Voucher.tag)


@Prepared
def _by_tag(event_id: Any) -> ModelSelect[Voucher]:
    return _with_voucher(event_id, Voucher.tag)


Sales = Sequence[SalesOfDay] | Sequence[SeatFigures]
"""Sales of days, or of what else one can ask for."""


def read(tenant_id: str, event_id: str | None, by: SalesBy, *, shows_codes: bool) -> Sales:
    """Return the sales of an event, or by day of all events (None).

    Without `shows_codes`, the codes of vouchers are None. An unknown event has no sales.
    """
    if by is SalesBy.DAY:
        return sales_figures.by_day(tenant_id, event_id)
    if event_id is None:
        raise ValueError(f"sales by {by} are those of one event")
    if by is SalesBy.TICKET:
        return by_ticket_type(tenant_id, event_id)
    if by is SalesBy.VOUCHER:
        return by_voucher(tenant_id, event_id, shows_codes=shows_codes)
    return by_tag(tenant_id, event_id)


def by_ticket_type(tenant_id: str, event_id: str) -> list[SalesOfTicketType]:
    """Return what was sold of each ticket type of an event, as they are shown.

    Types of which nothing was sold or given away are left out. An unknown event has no sales.
    """
    return [SalesOfTicketType(*row) for row in _rows(_by_ticket_type, tenant_id, event_id)]


def by_voucher(tenant_id: str, event_id: str, *, shows_codes: bool) -> list[SalesOfVoucher]:
    """Return what was sold with each voucher of an event, the largest amount first, at most MOST.

    Without `shows_codes`, the codes are None: they are worth money.
    """
    found = [SalesOfVoucher(*row) for row in _rows(_by_voucher, tenant_id, event_id)]
    return found if shows_codes else [replace(each, code=None) for each in found]


def by_tag(tenant_id: str, event_id: str) -> list[SalesOfTag]:
    """Return what was sold with the vouchers of each tag, as by_voucher."""
    return [SalesOfTag(*row) for row in _rows(_by_tag, tenant_id, event_id)]


def _rows(query: Prepared[Any], tenant_id: str, event_id: str) -> Sequence[Any]:
    if not only_event(tenant_id, event_id).exists():
        return []
    # In Postgres a sum of bigints is a Decimal.
    return [[*map(int, row[:7]), *row[7:]] for row in query.tuples(event_id=event_id)]
