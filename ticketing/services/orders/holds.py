"""The seats that orders hold: find a ticket type on sale, hold its seats and its event's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from peewee import ModelSelect

from ticketing.constants import Publication
from ticketing.errors import CapacityChanged, NotFound, SoldOut
from ticketing.models.chains import ChainState
from ticketing.models.events import Event
from ticketing.models.prepared import Prepared
from ticketing.models.tenants import Tenant
from ticketing.models.ticket_types import EventStock, TicketType
from ticketing.models.vouchers import Voucher
from ticketing.services import chains
from ticketing.services.orders import stock, vouchers


def _on_sale(tenant: Any, ticket_id: Any) -> ModelSelect[TicketType]:
    return (
        TicketType.select(TicketType, Event)
        .join_from(TicketType, Event)
        .join_from(TicketType, Tenant)
        .where(
            TicketType.id == ticket_id,
            TicketType.status == Publication.PUBLISHED,
            Event.status == Publication.PUBLISHED,
            (Tenant.id == tenant) | (Tenant.slug == tenant),
        )
    )


@Prepared
def _of_event(tenant: Any, event: Any, ticket_id: Any) -> ModelSelect[TicketType]:
    return _on_sale(tenant, ticket_id).where((Event.id == event) | (Event.slug == event))


@Prepared
def _of_any_event(tenant: Any, ticket_id: Any) -> ModelSelect[TicketType]:
    return _on_sale(tenant, ticket_id)


@dataclass(frozen=True)
class Held:
    """Seats that are held: the ticket type, its event if that has a capacity, and its chain.

    `chains` has the state of the ticket type's chain, if the worker has read it.
    """

    ticket_type: TicketType
    event_stock: EventStock | None
    chains: Mapping[int, ChainState]

    @property
    def unsold(self) -> int | None:
        """How many seats are not sold, held ones included. None: unlimited."""
        left = [
            each.capacity - each.sold
            for each in (self.ticket_type, self.event_stock)
            if each is not None and each.capacity is not None
        ]
        return min(left, default=None)

    def is_under_pressure(self, quantity: int) -> bool:
        """Return whether more than half of the unsold seats are held, without these `quantity`.

        Example: of 10 seats, 4 are sold and 6 unsold. With 6 held, 2 of them for this order, 4 are
        held for others: True. With 5 held, it is 3 of 6: False.
        """
        stocks: list[TicketType | EventStock] = [self.ticket_type]
        if self.event_stock is not None:
            stocks.append(self.event_stock)
        return any(
            each.capacity is not None and 2 * (each.held - quantity) > each.capacity - each.sold
            for each in stocks
        )


def on_sale(
    tenant_reference: str, event_reference: str, ticket_id: str, voucher: Voucher | None = None
) -> TicketType:
    """Return a published ticket type with its event. NotFound.

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


def left(ticket_type: TicketType) -> int | None:
    """Return how many tickets can still be held, without a transaction. None: unlimited."""
    of_event = stock.left_of_event(ticket_type.event)
    return min(
        (most for most in (ticket_type.available, of_event) if most is not None), default=None
    )


def check_left(ticket_type: TicketType, quantity: int) -> None:
    """Refuse an order for more than is left, without a transaction. SoldOut."""
    most = left(ticket_type)
    if most is not None and most < quantity:
        raise SoldOut


def hold(ticket_type: TicketType, chain_states: Mapping[int, ChainState], quantity: int) -> Held:
    """Hold seats of a ticket type. `chain_states` has the state of its chain.

    SoldOut. NotFound if its event is not published any more.
    CapacityChanged, very rarely: the event got a capacity since the ticket type was read.

    If it fails, roll the transaction back. The ticket type is locked afterwards, so until the
    commit its event stays published, and nobody adds or removes a capacity of the event.
    """
    is_capped = ticket_type.event.capacity is not None
    event_stock = stock.hold_of_event(ticket_type.event_id, quantity) if is_capped else None
    if is_capped and event_stock is None and _again(ticket_type).event.capacity is not None:
        raise SoldOut
    held = stock.hold(ticket_type.id, quantity)
    if held is None:
        raise SoldOut
    if held.event_changes != ticket_type.event_changes:
        now = _again(ticket_type).event
        if now.capacity is not None and event_stock is None:
            # It was added since the first read. To lock its stock now, after the ticket type,
            # could deadlock with other orders of the event.
            raise CapacityChanged
    if held.chain_id != ticket_type.chain_id:
        chain_states = chains.states_of(held.chain_id)
    return Held(held, event_stock, chain_states)


def _again(ticket_type: TicketType) -> TicketType:
    # A hidden one was opened by a voucher before.
    found: TicketType | None = _of_any_event.first(
        tenant=ticket_type.tenant_id, ticket_id=ticket_type.id
    )
    if found is None:
        raise NotFound("This ticket type does not exist.")
    return found


def _existing(ticket_type: TicketType | None, voucher: Voucher | None) -> TicketType:
    if ticket_type is None or not vouchers.is_shown(ticket_type, voucher):
        raise NotFound("This ticket type does not exist.")
    return ticket_type
