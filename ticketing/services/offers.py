"""Find what a buyer can order, and hold the seats: of the ticket type, and of the event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from peewee import ModelSelect

from ticketing import ids
from ticketing.conflicts import SoldOut
from ticketing.constants import Publication
from ticketing.errors import CapacityChanged, NotFound
from ticketing.models.chains import ChainState
from ticketing.models.events import Event
from ticketing.models.prepared import Prepared
from ticketing.models.tenants import Tenant
from ticketing.models.ticket_types import EventStock, TicketType
from ticketing.services.catalog import public_listing
from ticketing.services.orders import stock


def _offers(tenant_id: Any, ticket_id: Any) -> ModelSelect[TicketType]:
    return (
        TicketType.select(TicketType, Event)
        .join(Event)
        .where(
            Event.tenant == tenant_id,
            Event.status == Publication.PUBLISHED,
            TicketType.id == ticket_id,
            TicketType.status == Publication.PUBLISHED,
        )
    )


@Prepared
def _by_event_id(tenant_id: Any, event: Any, ticket_id: Any) -> ModelSelect[TicketType]:
    return _offers(tenant_id, ticket_id).where(Event.id == event)


@Prepared
def _by_event_slug(tenant_id: Any, event: Any, ticket_id: Any) -> ModelSelect[TicketType]:
    return _offers(tenant_id, ticket_id).where(Event.slug == event)


@Prepared
def _by_id(tenant_id: Any, ticket_id: Any) -> ModelSelect[TicketType]:
    return _offers(tenant_id, ticket_id)


@Prepared
def _chain_if_unchanged(event_id: Any, chain_id: Any, is_capped: Any) -> ModelSelect[ChainState]:
    has_capacity = Event.capacity.is_null(False)
    is_unchanged = (
        (Event.id == event_id)
        & (Event.status == Publication.PUBLISHED)
        & (has_capacity == is_capped)
    )
    return ChainState.select().join(Event, on=is_unchanged).where(ChainState.chain_id == chain_id)


@dataclass(frozen=True)
class Held:
    """Seats that are held: the ticket type, its event if that has a capacity, and its chain.

    `chains` has the state of the ticket type's chain, if the worker has read it.
    """

    ticket_type: TicketType
    event_stock: EventStock | None
    chains: Mapping[int, ChainState]

    def is_under_pressure(self, quantity: int) -> bool:
        """Return whether more than half of the unsold seats are held, without these `quantity`."""
        stocks: list[TicketType | EventStock] = [self.ticket_type]
        if self.event_stock is not None:
            stocks.append(self.event_stock)
        return any(
            each.capacity is not None and 2 * (each.held - quantity) > each.capacity - each.sold
            for each in stocks
        )


def find(tenant: Tenant, event_reference: str, ticket_id: str) -> TicketType:
    """Return a published ticket type with its event. The event is an id or a slug. NotFound."""
    by_id = ids.is_id(ids.EVENT, event_reference)
    query: Prepared[TicketType] = _by_event_id if by_id else _by_event_slug
    offer = query.first(tenant_id=tenant.id, event=event_reference, ticket_id=ticket_id)
    if offer is None:
        raise NotFound("This ticket type does not exist.")
    return offer


def find_by_id(tenant: Tenant, ticket_id: str) -> TicketType:
    """Return a published ticket type of any published event, with the event. NotFound."""
    offer: TicketType | None = _by_id.first(tenant_id=tenant.id, ticket_id=ticket_id)
    if offer is None:
        raise NotFound("This ticket type does not exist.")
    return offer


def check_left(offer: TicketType, quantity: int) -> None:
    """Refuse an order for more than is left, without a transaction. SoldOut."""
    if offer.available is not None and offer.available < quantity:
        raise SoldOut
    if offer.event.capacity is not None:
        left = stock.left_of_events([offer.event_id]).get(offer.event_id)
        if left is not None and left < quantity:
            raise SoldOut


def hold(tenant: Tenant, offer: TicketType, quantity: int) -> Held:
    """Hold seats of an offer. SoldOut. NotFound if its event is not published any more.

    CapacityChanged, very rarely: the event got a capacity since the offer was read.

    If it fails, roll the transaction back. The ticket type is locked afterwards, so until the
    commit its event stays published, and nobody adds or removes a capacity of the event.
    """
    is_capped = offer.event.capacity is not None
    event_stock = stock.hold_of_event(offer.event_id, quantity) if is_capped else None
    if is_capped and event_stock is None:
        if public_listing.find_event(tenant, offer.event_id).capacity is not None:
            raise SoldOut
        is_capped = False  # The capacity was removed since the offer was read.
    ticket_type = stock.hold(offer.id, quantity)
    if ticket_type is None:
        raise SoldOut
    chains = _chains(ticket_type, is_capped=is_capped)
    if not chains:
        event = public_listing.find_event(tenant, offer.event_id)
        if event.capacity is not None and event_stock is None:
            # It was added since the offer was read. To lock its stock now, after the ticket type,
            # could deadlock with other orders of the event.
            raise CapacityChanged
    return Held(ticket_type, event_stock, chains)


def _chains(ticket_type: TicketType, *, is_capped: bool) -> Mapping[int, ChainState]:
    """Return the chain of a ticket type if its event is published, and has a capacity or not."""
    if ticket_type.chain_id is None:
        return {}
    state = _chain_if_unchanged.first(
        event_id=ticket_type.event_id, chain_id=ticket_type.chain_id, is_capped=is_capped
    )
    return {} if state is None else {state.chain_id: state}
