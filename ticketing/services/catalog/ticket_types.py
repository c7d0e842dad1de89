"""Ticket types: list, create, read, change, publish, cancel."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from peewee import ModelSelect

from ticketing import clock, ids
from ticketing.config import Config
from ticketing.constants import PUBLICATION_MOVES, Publication
from ticketing.db.connection import locked, write_transaction
from ticketing.errors import (
    CapacityTooLow,
    FieldMessage,
    HasIntents,
    Invalid,
    InvalidTransition,
    NotFound,
)
from ticketing.models.events import Event
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.prepared import Prepared
from ticketing.models.tenants import Tenant
from ticketing.models.ticket_types import TicketType
from ticketing.services import catalog_version, event_locks
from ticketing.services.catalog import events, obstacles
from ticketing.services.notifications import facts, feed
from ticketing.services.pagination import Page, PageRequest, paginate
from ticketing.services.payments import sale_locks


def _select(tenant_id: Any, event_id: Any, ticket_id: Any) -> ModelSelect[TicketType]:
    return (
        TicketType.select(TicketType, Event)
        .join(Event)
        .where(
            TicketType.tenant == tenant_id,
            TicketType.event == event_id,
            TicketType.id == ticket_id,
        )
    )


_by_id: Prepared[TicketType] = Prepared(_select)


@Prepared
def _names(event_id: Any) -> ModelSelect[TicketType]:
    return (
        TicketType.select(TicketType.id, TicketType.name)
        .where(TicketType.event == event_id)
        .order_by(TicketType.id)
    )


def create(tenant: Tenant, event_id: str, fields: dict[str, Any], config: Config) -> TicketType:
    """Create a ticket type of an event. NotFound; Invalid if two fields contradict each other."""
    event = events.get(tenant.id, event_id)
    now = clock.now()
    ticket_type = TicketType(
        id=ids.new(ids.TICKET_TYPE),
        tenant=tenant,
        event=event,
        created_at=now,
        updated_at=now,
        **fields,
    )
    _imply(ticket_type)
    _check(ticket_type)
    with write_transaction():
        # The stock of all its ticket types is counted while an event gets a capacity.
        event_locks.keep(tenant.id, event_id)
        ticket_type.save(force_insert=True)
        catalog_version.advance(tenant.id)
    return _with_obstacles(tenant, ticket_type, config)


def list_page(tenant: Tenant, event_id: str, page: PageRequest, config: Config) -> Page[TicketType]:
    """Return a page of an event's ticket types, the oldest first. NotFound."""
    event = events.get(tenant.id, event_id)
    query = TicketType.select().where(TicketType.event == event)
    found = paginate(query, [TicketType.id], page, scope=f"tickets {event.id}")
    obstacles.add_to_ticket_types(tenant, event, found.data, config)
    return found


def read(tenant: Tenant, event_id: str, ticket_id: str, config: Config) -> TicketType:
    """Return one ticket type with its obstacles. NotFound."""
    return _with_obstacles(tenant, get(tenant.id, event_id, ticket_id), config)


def names(event_id: str) -> Sequence[TicketType]:
    """Return all ticket types of an event, only with id and name."""
    return _names.rows(event_id=event_id)


def get(tenant_id: str, event_id: str, ticket_id: str) -> TicketType:
    """Return one ticket type with its event. NotFound."""
    found = _by_id.first(tenant_id=tenant_id, event_id=event_id, ticket_id=ticket_id)
    return _one(found)


def change(
    tenant: Tenant, event_id: str, ticket_id: str, fields: dict[str, Any], config: Config
) -> TicketType:
    """Change the given fields. Open intents keep their price and chain.

    NotFound, CapacityTooLow; Invalid if two fields contradict each other.
    """
    with write_transaction():
        ticket_type = _lock(tenant.id, event_id, ticket_id)
        was = ticket_type.count
        for name, value in fields.items():
            setattr(ticket_type, name, value)
        _imply(ticket_type)
        _check(ticket_type)
        if ticket_type.available is not None and ticket_type.available < 0:
            raise CapacityTooLow
        _save(ticket_type)
        feed.record_all(tenant.id, facts.stock_changed(event_id, ticket_id, was, ticket_type.count))
    return _with_obstacles(tenant, ticket_type, config)


def set_status(
    tenant: Tenant, event_id: str, ticket_id: str, status: Publication, config: Config
) -> TicketType:
    """Publish, unpublish or cancel a ticket type. The current status changes nothing.

    NotFound, InvalidTransition; HasIntents for a return to draft if there are payment intents.
    """
    with write_transaction():
        if status == Publication.CANCELED:
            _end_sale(get(tenant.id, event_id, ticket_id))
        ticket_type = _lock(tenant.id, event_id, ticket_id)
        if ticket_type.status == status:
            return _with_obstacles(tenant, ticket_type, config)
        if status not in PUBLICATION_MOVES[Publication(ticket_type.status)]:
            raise InvalidTransition
        intents = PaymentIntent.select().where(PaymentIntent.ticket_type == ticket_type)
        if status == Publication.DRAFT and intents.exists():
            raise HasIntents
        ticket_type.status = status
        _save(ticket_type)
    return _with_obstacles(tenant, ticket_type, config)


def _end_sale(ticket_type: TicketType) -> None:
    """Cancel the ticket type's live orders that can be canceled, before it is locked itself."""
    if Publication.CANCELED in PUBLICATION_MOVES[Publication(ticket_type.status)]:
        sale_locks.cancel_sale(TicketType.id == ticket_type.id)


def _lock(tenant_id: str, event_id: str, ticket_id: str) -> TicketType:
    return _one(locked(_select(tenant_id, event_id, ticket_id), of=TicketType).first())


def _with_obstacles(tenant: Tenant, ticket_type: TicketType, config: Config) -> TicketType:
    obstacles.add_to_ticket_types(tenant, ticket_type.event, [ticket_type], config)
    return ticket_type


def _save(ticket_type: TicketType) -> None:
    ticket_type.updated_at = clock.now()
    ticket_type.save(only=ticket_type.dirty_fields)
    catalog_version.advance(ticket_type.tenant_id)


def _one(ticket_type: TicketType | None) -> TicketType:
    if ticket_type is None:
        raise NotFound("This ticket type does not exist.")
    return ticket_type


def _imply(ticket_type: TicketType) -> None:
    """Set what follows from the other fields: what is hidden without a voucher requires one."""
    if ticket_type.hide_without_voucher and not ticket_type.require_voucher:
        ticket_type.require_voucher = True


def _check(ticket_type: TicketType) -> None:
    """Check fields that depend on each other. Invalid."""
    errors: dict[str, list[str]] = {}
    if ticket_type.price_amount > 0 and ticket_type.chain_id is None:
        errors["chain_id"] = [FieldMessage("chain", "Required if price_amount is not 0.")]
    if ticket_type.min_per_order > ticket_type.max_per_order:
        errors["min_per_order"] = [FieldMessage("above_order", "Must not be above max_per_order.")]
    start: datetime | None = ticket_type.sales_start_at
    end: datetime | None = ticket_type.sales_end_at
    if start is not None and end is not None and end <= start:
        errors["sales_end_at"] = [FieldMessage("sale_end", "Must be after sales_start_at.")]
    if errors:
        raise Invalid(errors)
