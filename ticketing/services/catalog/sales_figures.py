"""What was sold: orders per day, and the figures of each event.

    tickets    valid tickets of orders: not those of guests, and none that was voided
    merchandise    the same of ticket types that let nobody in: of orders, and where one event or a
               tenant is counted, of guests too. They are no tickets
    kept, owed, refunded, open: services/money/figures.py defines them

The figures of an event are the sums of its days, as far as they are of sold orders. Its owed and
refunded have also what unsold orders received.

Example: an order of 3 tickets costs 15. One is voided with a refund, and not paid back yet: 1
order, 2 tickets, kept 10, owed 5. `amount` stays 15: it is what the order cost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from peewee import JOIN, SQL, Expression, ModelSelect, fn

from ticketing import clock
from ticketing.constants import AdmissionStatus, IntentStatus, Publication
from ticketing.db.connection import is_sqlite, snapshot
from ticketing.errors import NotFound
from ticketing.models.admissions import Admission
from ticketing.models.base import literal
from ticketing.models.events import Event
from ticketing.models.order_accounts import HAS_MONEY, OrderAccount
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.prepared import Prepared
from ticketing.models.ticket_types import TicketType
from ticketing.services.catalog import events
from ticketing.services.pagination import Page, PageRequest, paginate

MOST_DAYS = 366
_SLOT_SECONDS = 900
"""The offset of every time zone is a whole number of these, so a slot lies in one day of each."""

_CLOCKS_DIFFER = timedelta(days=7)
"""A ticket is voided after its order was confirmed, unless a clock was wrong by more than this."""

_IS_SOLD = PaymentIntent.status == literal(IntentStatus.CONFIRMED)
_IS_VALID = Admission.status == literal(AdmissionStatus.VALID)
# Each only of columns that an index has: sales_of_event, and money_of_event.
_COUNTS = (fn.COUNT(SQL("*")), fn.SUM(PaymentIntent.quantity), fn.SUM(PaymentIntent.amount))
_MONEY = (
    fn.SUM(OrderAccount.kept),
    fn.SUM(OrderAccount.open),
    fn.SUM(OrderAccount.due),
    fn.SUM(OrderAccount.refunded),
)


@dataclass(frozen=True)
class SalesOfDay:
    """The orders that were confirmed on one day. Amounts are micro-units.

    `amount` is what they cost. The other figures are as they are now: see the module's docstring.
    """

    day: date
    orders: int = 0
    tickets: int = 0
    merchandise: int = 0
    amount: int = 0
    kept: int = 0
    owed: int = 0
    refunded: int = 0


@dataclass(frozen=True)
class EventFigures:
    """An event with its stock, its tickets, who entered, and its money in micro-units.

    `held`, `sold` and `free` (None: unlimited) are of the stock of what lets somebody in, with
    guests. The other figures: see the module's docstring.
    """

    event: Event
    held: int
    sold: int
    free: int | None
    tickets: int
    guests: int
    redeemed: int
    merchandise: int
    kept: int
    open: int
    owed: int
    refunded: int


def _slot(at: Any) -> Any:
    if is_sqlite():
        # Without its fraction, which SQLite would round.
        return fn.STRFTIME("%s", fn.SUBSTR(at, 1, 19)).cast("INTEGER") / _SLOT_SECONDS
    return fn.FLOOR(fn.DATE_PART("epoch", at) / _SLOT_SECONDS)


def _since(query: Any, of_events: Expression, since: Any) -> ModelSelect[Any]:
    """Group a query by the time of confirmation in slots."""
    found: ModelSelect[Any] = query.where(of_events, PaymentIntent.confirmed_at >= since)
    return found.group_by(SQL("slot"))


def _counts(of_events: Any, since: Any) -> ModelSelect[Any]:
    query = PaymentIntent.select(_slot(PaymentIntent.confirmed_at).alias("slot"), *_COUNTS).where(
        _IS_SOLD
    )
    return _since(query, of_events, since)


def _money(of_events: Any, since: Any) -> ModelSelect[Any]:
    query = OrderAccount.select(_slot(OrderAccount.sold_at).alias("slot"), *_MONEY)
    found: ModelSelect[Any] = query.where(HAS_MONEY, of_events, OrderAccount.sold_at >= since)
    return found.group_by(SQL("slot"))


def _voided(of_events: Any, since: Any, voided_since: Any) -> ModelSelect[Any]:
    query = Admission.select(
        _slot(PaymentIntent.confirmed_at).alias("slot"), fn.COUNT(SQL("*"))
    ).join(PaymentIntent)
    is_void = Admission.status == literal(AdmissionStatus.VOID)
    # Of those that were voided before, no order has to be read.
    is_late = Admission.voided_at >= voided_since
    return _since(query.where(_IS_SOLD, is_void, is_late), of_events, since)


def _merchandise(ticket_ids: Sequence[str], since: Any) -> ModelSelect[Any]:
    query = Admission.select(
        _slot(PaymentIntent.confirmed_at).alias("slot"), fn.COUNT(SQL("*"))
    ).join(PaymentIntent)
    is_valid = Admission.status != literal(AdmissionStatus.VOID)
    return _since(query.where(_IS_SOLD, is_valid), Admission.ticket_type.in_(ticket_ids), since)


def _merchandise_types(of: Any) -> ModelSelect[TicketType]:
    """Select the ids of ticket types that let nobody in. Most events have none."""
    return TicketType.select(TicketType.id).where(of, ~TicketType.admission)


Condition = Callable[[Any], Any]


def _prepared(
    of_orders: Condition, of_accounts: Condition, of_tickets: Condition
) -> tuple[Prepared[Any], ...]:
    """Return the queries of counts, money and voided tickets.

    Their parameters are `of` and `since`, of the last one also `voided_since`.
    """
    return (
        Prepared(lambda of, since: _counts(of_orders(of), since)),
        Prepared(lambda of, since: _money(of_accounts(of), since)),
        Prepared(lambda of, since, voided_since: _voided(of_tickets(of), since, voided_since)),
    )


def _own_events(tenant_id: Any) -> ModelSelect[Event]:
    return Event.select(Event.id).where(Event.tenant == tenant_id)


_OF_EVENT = _prepared(
    lambda of: PaymentIntent.event == of,
    lambda of: OrderAccount.event_id == of,
    lambda of: Admission.event == of,
)
_OF_TENANT = _prepared(
    lambda of: PaymentIntent.event.in_(_own_events(of)),
    lambda of: OrderAccount.event_id.in_(_own_events(of)),
    lambda of: Admission.tenant == of,
)


def by_day(tenant_id: str, event_id: str | None, last: int = MOST_DAYS) -> list[SalesOfDay]:
    """Return the sales of each of the last days on which something was sold.

    The days are those of the event's time zone, or of UTC for all events. An unknown event has no
    sales.
    """
    zone: tzinfo = UTC
    if event_id is not None:
        try:
            zone = ZoneInfo(events.get(tenant_id, event_id).timezone)
        except NotFound:
            return []
    first = clock.now().astimezone(zone).date() - timedelta(days=last - 1)
    since = datetime.combine(first, time(), zone)
    of, queries = (tenant_id, _OF_TENANT) if event_id is None else (event_id, _OF_EVENT)
    values = {"of": of, "since": since, "voided_since": since - _CLOCKS_DIFFER}
    counts, money, voided = (_by_day(query.tuples(**values), zone) for query in queries)
    handed_out = _merchandise_by_day(tenant_id, event_id, since, zone)
    found = []
    for day in sorted(counts.keys() | money.keys()):
        orders, seats, amount = counts.get(day, (0, 0, 0))
        (no_more,), (others,) = voided.get(day, (0,)), handed_out.get(day, (0,))
        kept, _, owed, refunded = money.get(day, (0, 0, 0, 0))
        tickets = seats - no_more - others
        found.append(SalesOfDay(day, orders, tickets, others, amount, kept, owed, refunded))
    return found


def _merchandise_by_day(
    tenant_id: str, event_id: str | None, since: datetime, zone: tzinfo
) -> Mapping[date, tuple[int, ...]]:
    """Return how much of what lets nobody in was sold on each day, and is valid."""
    of = TicketType.tenant == tenant_id if event_id is None else TicketType.event == event_id
    ticket_ids = [each.id for each in _merchandise_types(of)]
    if not ticket_ids:
        return {}
    return _by_day(list(_merchandise(ticket_ids, since).tuples()), zone)


def _by_day(slots: Sequence[Any], zone: tzinfo) -> dict[date, tuple[int, ...]]:
    """Add up sums by slot to sums by day."""
    days: dict[date, tuple[int, ...]] = {}
    for slot, *sums in slots:
        day = datetime.fromtimestamp(int(slot) * _SLOT_SECONDS, zone).date()
        before = days.get(day, (0,) * len(sums))
        days[day] = tuple(one + int(other) for one, other in zip(before, sums, strict=True))
    return days


def overview(tenant_id: str, page: PageRequest) -> Page[EventFigures]:
    """Return a page of a tenant's events with their figures, the latest start first."""
    found = paginate(
        Event.select().where(Event.tenant == tenant_id),
        [Event.start_at, Event.id],
        page,
        scope=f"overview {tenant_id}",
        descending=True,
    )
    return Page(_of_events(found.data), found.next_cursor)


@dataclass(frozen=True)
class Tickets:
    """The valid tickets of a tenant: those of orders, those of guests, and what is no ticket."""

    tickets: int
    guests: int
    merchandise: int


def tickets_of(tenant_id: str) -> Tickets:
    """Return the valid tickets of all events of a tenant."""
    of_tenant = TicketType.tenant == tenant_id
    everything = TicketType.select(TicketType.id).where(of_tenant)
    handed_out = _merchandise_types(of_tenant)
    given = _guests(Event.tenant == tenant_id)
    with snapshot():
        of_all, merchandise = (_valid(of).count() for of in (everything, handed_out))
        guests = given.count() - given.where(Admission.ticket_type.in_(handed_out)).count()
    return Tickets(of_all - merchandise - guests, guests, merchandise)


def _valid(ticket_ids: Any) -> ModelSelect[Admission]:
    """Select the valid seats of ticket types. An index has both columns."""
    return Admission.select().where(Admission.ticket_type.in_(ticket_ids), _IS_VALID)


def _guests(of_events: Any) -> ModelSelect[Event]:
    """Select the valid seats of some events that were given away."""
    # SQLite keeps the order of a cross join. Otherwise it may read the guests of all events.
    query = Event.select().join(Admission, JOIN.CROSS)
    is_guest = (Admission.event == Event.id) & Admission.intent.is_null()
    return query.where(of_events, is_guest, _IS_VALID)


def of_event(event: Event) -> EventFigures:
    """Return the figures of one event."""
    (figures,) = _of_events([event])
    return figures


def _of_events(found: Sequence[Event]) -> list[EventFigures]:
    event_ids = [event.id for event in found]
    types, money = _types(event_ids), _money_of(event_ids)
    people = _people(event_ids, types)
    return [
        _figures(event, types[event.id], money.get(event.id), people[event.id]) for event in found
    ]


def _types(event_ids: Sequence[str]) -> Mapping[str, list[TicketType]]:
    found: dict[str, list[TicketType]] = {event_id: [] for event_id in event_ids}
    for each in TicketType.select().where(TicketType.event.in_(event_ids)):
        found[each.event_id].append(each)
    return found


def _money_of(event_ids: Sequence[str]) -> Mapping[str, tuple[int, ...]]:
    """Return what each event's orders kept, what is open, owed and refunded."""
    query = (
        OrderAccount.select(OrderAccount.event_id, *_MONEY)
        .where(HAS_MONEY, OrderAccount.event_id.in_(event_ids))
        .group_by(OrderAccount.event_id)
    )
    rows: Any = query.tuples()
    return {event_id: tuple(map(int, sums)) for event_id, *sums in rows}


def _people(
    event_ids: Sequence[str], types: Mapping[str, Sequence[TicketType]]
) -> Mapping[str, tuple[int, ...]]:
    """Return each event's valid tickets of orders, of guests, how many entered, and merchandise."""
    ticket_ids = [each.id for of in types.values() for each in of]
    came = Admission.event.in_(event_ids) & Admission.redeemed_at.is_null(False)
    with snapshot():  # tickets are what is valid without the guests, so both must be of one moment
        valid, given = _by_type(_valid(ticket_ids)), _by_type(_guests(Event.id.in_(event_ids)))
        entered = _by_type(Admission.select().where(came))
    found = {}
    for event_id, of in types.items():
        seats = [each.id for each in of if each.admission]
        guests = sum(given[each] for each in seats)
        tickets = sum(valid[each] for each in seats) - guests
        redeemed = sum(entered[each] for each in seats)
        merchandise = sum(valid[each.id] for each in of if not each.admission)
        found[event_id] = (tickets, guests, redeemed, merchandise)
    return found


def _by_type(query: Any) -> Counter[str]:
    """Count selected admissions by their ticket types."""
    counted = query.select(Admission.ticket_type, fn.COUNT(SQL("*")))
    return Counter(dict(counted.group_by(Admission.ticket_type).tuples()))


def _figures(
    event: Event,
    types: Sequence[TicketType],
    money: tuple[int, ...] | None,
    people: tuple[int, ...],
) -> EventFigures:
    seats = [each for each in types if each.admission]
    held, sold = sum(each.held for each in seats), sum(each.sold for each in seats)
    left = [each.available for each in seats if each.status == Publication.PUBLISHED]
    limits = [] if None in left else [sum(each for each in left if each is not None)]
    if event.capacity is not None:
        limits.append(event.capacity - held - sold)
    free = min(limits, default=None)
    return EventFigures(event, held, sold, free, *people, *(money or (0, 0, 0, 0)))
