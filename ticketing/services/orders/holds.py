"""The seats that orders hold: find ticket types on sale, hold their seats and their event's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from peewee import JOIN, ModelSelect

from ticketing import clock, ids
from ticketing.constants import Publication
from ticketing.errors import CapacityChanged, NotFound, SoldOut, VoucherInvalid
from ticketing.models.chains import ChainState
from ticketing.models.events import Event
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.prepared import Prepared
from ticketing.models.tenants import Tenant
from ticketing.models.ticket_types import EventStock, TicketType
from ticketing.models.vouchers import Voucher
from ticketing.services import chains
from ticketing.services.orders import lines, seats, stock, vouchers
from ticketing.services.orders.lines import Line, Wanted
from ticketing.services.orders.seats import Missing
from ticketing.waiting_list import SHORTEST_OFFER

_MOST_SHOWN = 100


_OF_EVENT = (
    Event.id,
    Event.title,
    Event.start_at,
    Event.end_at,
    Event.doors_open_at,
    Event.capacity,
    Event.carts,
    Event.crowds,
    Event.order_questions,
    Event.waiting_room,
    Event.is_queueing,
)
_OF_TENANT = (Tenant.id, Tenant.payment_tolerance_percent, Tenant.payment_tolerance_most)
_OF_CHAIN = (
    ChainState.chain_id,
    ChainState.token_address,
    ChainState.decimals,
    ChainState.symbol,
    ChainState.refusal,
    ChainState.has_receivers,
    ChainState.block_number,
    ChainState.block_time,
    ChainState.looked_at,
)
"""What an order needs of its event, organizer and chain: it is read with the ticket type."""


def _on_sale(tenant: Any, of_ticket_type: Any, *more: Any) -> ModelSelect[TicketType]:
    return (
        TicketType.select(*stock.OF_TICKET_TYPE, *_OF_EVENT, *_OF_TENANT, *more)
        .join_from(TicketType, Event)
        .join_from(TicketType, Tenant)
        .where(
            of_ticket_type,
            TicketType.status == Publication.PUBLISHED,
            Event.status == Publication.PUBLISHED,
            (Tenant.id == tenant) | (Tenant.slug == tenant),
        )
    )


def _with_chain(tenant: Any, event: Any, ticket_id: Any) -> ModelSelect[TicketType]:
    of_event = (Event.id == event) | (Event.slug == event)
    found = _on_sale(tenant, TicketType.id == ticket_id, *_OF_CHAIN).where(of_event)
    is_proposed = ChainState.chain_id == TicketType.chain_id
    return found.join_from(TicketType, ChainState, JOIN.LEFT_OUTER, on=is_proposed)


_of_event: Prepared[TicketType] = Prepared(_with_chain, last="proposed_chain")


@Prepared
def _several(tenant: Any, event: Any, ticket_ids: Any) -> ModelSelect[TicketType]:
    of_event = (Event.id == event) | (Event.slug == event)
    return _on_sale(tenant, TicketType.id.in_(ticket_ids)).where(of_event)


@Prepared
def _of_any_event(tenant: Any, ticket_id: Any) -> ModelSelect[TicketType]:
    return _on_sale(tenant, TicketType.id == ticket_id)


@dataclass(frozen=True)
class Held:
    """Seats that are held: the lines of an order, its event if that has a capacity, and its chain.

    The lines are as the locked ticket types say, with the event as it was read before. `chains` has
    the state of the chain on which the order is paid, if the worker has read it. `is_pooled`: they
    replace seats that are given back, and count in no capacity.
    """

    lines: Sequence[Line]
    event_stock: EventStock | None
    chains: Mapping[int, ChainState]
    is_pooled: bool = False

    def unsold(self, line: Line) -> int | None:
        """Return how many seats of a line are not sold, held ones included. None: unlimited.

        Of seats that are given back: how many are.
        """
        if self.is_pooled:
            return int(line.ticket_type.offered)
        return _least(
            *(
                None if each.capacity is None else each.capacity - each.sold
                for each, _ in self._stocks(line)
            )
        )

    def is_under_pressure(self, line: Line) -> bool:
        """Return whether more than half of the unsold seats are held, without those of this order.

        Example: of 10 seats, 4 are sold and 6 unsold. With 6 held, 2 of them for this order, 4 are
        held for others: True. With 5 held, it is 3 of 6: False. Of seats that are given back, half
        is enough: of 2, 1 is held for others.
        """
        if self.is_pooled:
            of_others = line.ticket_type.taken - line.quantity
            return bool(of_others and 2 * of_others >= line.ticket_type.offered)
        return any(
            each.capacity is not None and 2 * (each.held - own) > each.capacity - each.sold
            for each, own in self._stocks(line)
        )

    @property
    def is_scarce(self) -> bool:
        """Whether a line of this order is under pressure."""
        return any(self.is_under_pressure(line) for line in self.lines)

    @property
    def max_per_order(self) -> int:
        """The most seats of one ticket type that an order may have, of the types of this one."""
        return max(line.ticket_type.max_per_order for line in self.lines)

    def capacities(self, line: Line) -> Sequence[int]:
        """Return the limits of a line's seats, those of its event included."""
        return [each.capacity for each, _ in self._stocks(line) if each.capacity is not None]

    def _stocks(self, line: Line) -> Sequence[tuple[TicketType | EventStock, int]]:
        """Return each stock that a line's seats count in, and what this order holds of it."""
        stocks: list[tuple[TicketType | EventStock, int]] = [(line.ticket_type, line.quantity)]
        if self.event_stock is not None and line.ticket_type.admission:
            stocks.append((self.event_stock, lines.admission_seats(self.lines)))
        return stocks


def lines_on_sale(
    tenant_reference: str,
    event_reference: str,
    wanted: Sequence[Wanted],
    voucher: Voucher | None = None,
) -> list[Line]:
    """Return what a buyer wants with its ticket types, all published and of one event. NotFound."""
    if len(wanted) == 1:
        only = on_sale(tenant_reference, event_reference, wanted[0].ticket_id, voucher)
        return [Line(wanted[0], only, voucher)]
    rows: list[TicketType] = _several.rows(
        tenant=tenant_reference,
        event=event_reference,
        ticket_ids=tuple(each.ticket_id for each in wanted),
    )
    found = {each.id: each for each in rows}
    return [Line(each, _existing(found.get(each.ticket_id), voucher), voucher) for each in wanted]


def on_sale(
    tenant_reference: str, event_reference: str, ticket_id: str, voucher: Voucher | None = None
) -> TicketType:
    """Return a published ticket type with its event and the state of its proposed chain. NotFound.

    The references are ids or slugs. A hidden ticket type does not exist without a voucher for it.
    """
    ticket_type: TicketType | None = _of_event.first(
        tenant=tenant_reference, event=event_reference, ticket_id=ticket_id
    )
    return _existing(ticket_type, voucher)


def on_sale_by_id(tenant_id: str, ticket_id: str, voucher: Voucher | None = None) -> TicketType:
    """Return a published ticket type of any published event, with the event. NotFound.

    A hidden ticket type does not exist without a voucher for it.
    """
    return _existing(_of_any_event.first(tenant=tenant_id, ticket_id=ticket_id), voucher)


def all_on_sale(tenant_id: str, event_reference: str) -> list[TicketType]:
    """Return the published ticket types of a published event, 100 at most, without hidden ones.

    Each has the event. NotFound if there are none.
    """
    is_id = ids.is_id(ids.EVENT, event_reference)
    named = Event.id == event_reference if is_id else Event.slug == event_reference
    of_event = (Event.tenant == tenant_id) & named
    shown = _on_sale(tenant_id, of_event).where(~TicketType.hide_without_voucher)
    found = list(shown.order_by(TicketType.position, TicketType.id).limit(_MOST_SHOWN))
    if not found:
        raise NotFound("This event does not exist, or has nothing on sale.")
    return found


def left(ticket_type: TicketType) -> int | None:
    """Return how many tickets can still be held, without a transaction. None: unlimited.

    If none of the capacity is left, those that are given back count.
    """
    most = _least(ticket_type.buyable, _left_of_event(ticket_type))
    if most == 0:
        in_pool = stock.in_pool(ticket_type, ticket_type.event)
        return min(in_pool, stock.most_of_pool(ticket_type))
    return most


def is_sold_out(ticket_type: TicketType | None) -> bool:
    """Return whether not even the fewest of a ticket type can be held, as it was read."""
    if ticket_type is None:
        return False
    most = left(ticket_type)
    return most is not None and most < ticket_type.min_per_order


def check_left(wanted: Sequence[Line]) -> None:
    """Refuse an order for more than is left, without a transaction. SoldOut."""
    if _fits_pool(wanted):
        return
    for line in wanted:
        most = line.ticket_type.buyable
        if most is not None and most < line.quantity:
            raise sold_out(wanted, line)
    of_event = stock.left_of_event(wanted[0].ticket_type.event)
    if of_event is not None and of_event < lines.admission_seats(wanted):
        raise SoldOut


def sold_out(wanted: Sequence[Line], line: Line) -> SoldOut:
    """Return the error that too few of a line's seats are left. Of several, it names the line."""
    if len(wanted) == 1:
        return SoldOut()
    place = f"items.{wanted.index(line)}"
    return SoldOut(errors={place: [f"There are not enough left of {line.ticket_type.name}."]})


def hold(
    wanted: Sequence[Line], chain_states: Mapping[int, ChainState], *, for_waiting: bool = False
) -> Held:
    """Hold the seats of all lines, and the usages of their voucher, or none.

    `chain_states` has the states of their chains. SoldOut. VoucherInvalid, VoucherNotApplicable.
    NotFound if their event is not published any more. CapacityChanged, very rarely: the event got a
    capacity since the ticket types were read, or one of these became, or stopped to be, one of
    admission.

    If nothing is left of the capacity, an order of one ticket type without a voucher may get seats
    that are given back: see services/payments/resales.py. `for_waiting`: the order is an offer to
    somebody who waits, and comes before those of buyers.

    If it fails, roll the transaction back. The ticket types are locked afterwards, so until the
    commit their event stays published, and nobody adds or removes a capacity of the event.
    """
    event, voucher, now = wanted[0].ticket_type.event, wanted[0].voucher, clock.now()
    of = lines.stocks_of(wanted)
    held = seats.hold(of, now, first=for_waiting)
    is_event_full = isinstance(held, Missing) and held.stock is stock.EVENTS
    if is_event_full and _again(wanted[0]).event.capacity is None:  # it had one a moment ago
        held = seats.hold(replace(of, capped_event=None), now, first=for_waiting)
    if isinstance(held, Missing):
        if voucher is not None and held.stock is vouchers.USAGES:
            raise vouchers.refusal(voucher, now)
        of_type = (line for line in wanted if line.ticket_type.id == held.move.key)
        line = next(of_type, wanted[0])  # the first one if the event is full
        return _hold_of_pool(wanted, line, chain_states, for_waiting=for_waiting)
    event_stock: EventStock | None = held.get(event.id)
    for line in wanted:
        row: TicketType = held[line.ticket_type.id]
        _check_unchanged(line, row, is_counted=event_stock is not None)
        row.event, row.tenant = event, line.ticket_type.tenant
        if row.chain_ids != line.ticket_type.chain_ids:
            chain_states = chains.states()
    if voucher is not None:
        voucher = held.get(voucher.id, voucher)
    now_held = [Line(line.wanted, held[line.ticket_type.id], voucher) for line in wanted]
    if lines.voucher_usages(now_held) != lines.voucher_usages(wanted):
        raise VoucherInvalid  # it is for other ticket types since a moment ago
    return Held(now_held, event_stock, chain_states)


def _hold_of_pool(
    wanted: Sequence[Line],
    line: Line,
    chain_states: Mapping[int, ChainState],
    *,
    for_waiting: bool,
) -> Held:
    """Hold seats that are given back, as nothing is left for a line. SoldOut."""
    if not (_fits_offer(line) if for_waiting else _may_be_of_pool(wanted)):
        raise sold_out(wanted, line)
    # As they are now: the order that this one replaces may have had them.
    taken = stock.take(line.ticket_type.id, line.quantity, for_waiting=for_waiting)
    if taken is None or not (for_waiting or line.quantity <= stock.most_of_pool(taken)):
        raise sold_out(wanted, line)
    _check_unchanged(line, taken, is_counted=True)
    taken.event, taken.tenant = line.ticket_type.event, line.ticket_type.tenant
    if taken.chain_ids != line.ticket_type.chain_ids:
        chain_states = chains.states()
    return Held([Line(line.wanted, taken)], None, chain_states, is_pooled=True)


def _fits_pool(wanted: Sequence[Line]) -> bool:
    """Return whether an order may have seats that are given back, as its ticket type was read."""
    ticket_type = wanted[0].ticket_type
    in_pool = stock.in_pool(ticket_type, ticket_type.event)
    fits = wanted[0].quantity <= min(in_pool, stock.most_of_pool(ticket_type))
    return fits and _may_be_of_pool(wanted)


def _may_be_of_pool(wanted: Sequence[Line]) -> bool:
    """Return whether an order is one that may have seats that are given back."""
    is_simple = len(wanted) == 1 and wanted[0].voucher is None
    return is_simple and stock.is_pool_open(wanted[0].ticket_type.event)


def _fits_offer(line: Line) -> bool:
    """Return whether an offer to somebody who waits may have seats that are given back."""
    return clock.now() <= line.ticket_type.event.returns_end - SHORTEST_OFFER


def held_by(intent: PaymentIntent) -> Held:
    """Return what an unpaid order holds, read without locks."""
    wanted = [Wanted(item.ticket_type_id, item.quantity) for item in intent.items]
    types = TicketType.select().where(TicketType.id.in_([each.ticket_id for each in wanted]))
    of_id = {each.id: each for each in types}
    event_stock = EventStock.get_or_none(EventStock.event == intent.event_id)
    return Held([Line(each, of_id[each.ticket_id]) for each in wanted], event_stock, {})


def _check_unchanged(line: Line, held: TicketType, *, is_counted: bool) -> None:
    """Check that the event's stock counts the seats of a line whose ticket type is locked now."""
    if held.admission != line.ticket_type.admission:
        raise CapacityChanged
    if held.event_changes != line.ticket_type.event_changes:
        now = _again(line).event
        if now.capacity is not None and held.admission and not is_counted:
            # It was added since the first read. To lock its stock now, after the ticket type,
            # could deadlock with other orders of the event.
            raise CapacityChanged


def _again(line: Line) -> TicketType:
    # A hidden one was opened by a voucher before.
    found: TicketType | None = _of_any_event.first(
        tenant=line.ticket_type.tenant_id, ticket_id=line.ticket_type.id
    )
    if found is None:
        raise NotFound("This ticket type does not exist.")
    return found


def _left_of_event(ticket_type: TicketType) -> int | None:
    return stock.left_of_event(ticket_type.event) if ticket_type.admission else None


def _least(*limits: int | None) -> int | None:
    return min((each for each in limits if each is not None), default=None)


def _existing(ticket_type: TicketType | None, voucher: Voucher | None) -> TicketType:
    if ticket_type is None or not vouchers.is_shown(ticket_type, voucher):
        raise NotFound("This ticket type does not exist.")
    return ticket_type
