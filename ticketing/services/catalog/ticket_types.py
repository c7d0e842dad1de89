"""Ticket types: list, create, read, change, move, publish, cancel."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from peewee import Field, ModelSelect, fn

from ticketing import clock, ids
from ticketing.config import Config
from ticketing.constants import LEAST_FREE_PRICE, PUBLICATION_MOVES, Publication
from ticketing.db.connection import locked, write_transaction
from ticketing.errors import (
    CapacityTooLow,
    FieldMessage,
    HasIntents,
    Invalid,
    InvalidTransition,
    NotFound,
)
from ticketing.models.admissions import Admission
from ticketing.models.events import Event
from ticketing.models.items import IntentItem
from ticketing.models.prepared import Prepared
from ticketing.models.tenants import Tenant
from ticketing.models.ticket_types import TicketType
from ticketing.services import catalog_version, event_locks
from ticketing.services.catalog import events, obstacles
from ticketing.services.notifications import facts, feed
from ticketing.services.orders import waiting_ends
from ticketing.services.pagination import Page, PageRequest, paginate
from ticketing.services.payments import sale_locks

ORDER: Sequence[Field[Any]] = (TicketType.position, TicketType.id)
"""The order of the ticket types of an event, in each list: by position, then the oldest first."""


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
        TicketType.select(TicketType.id, TicketType.name, TicketType.admission)
        .where(TicketType.event == event_id)
        .order_by(*ORDER)
    )


def create(tenant: Tenant, event_id: str, fields: dict[str, Any], config: Config) -> TicketType:
    """Create a ticket type of an event, by default as the last one.

    NotFound; Invalid if two fields contradict each other.
    """
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
        if "position" not in fields:
            of_event = TicketType.select(fn.MAX(TicketType.position))
            ticket_type.position = of_event.where(TicketType.event == event_id).scalar() or 0
        ticket_type.save(force_insert=True)
        catalog_version.advance(tenant.id)
    return _with_obstacles(tenant, ticket_type, config)


def list_page(tenant: Tenant, event_id: str, page: PageRequest, config: Config) -> Page[TicketType]:
    """Return a page of an event's ticket types, by position, then the oldest first. NotFound."""
    event = events.get(tenant.id, event_id)
    query = TicketType.select().where(TicketType.event == event)
    found = paginate(query, ORDER, page, scope=f"tickets {event.id}")
    obstacles.add_to_ticket_types(tenant, event, found.data, config)
    return found


def read(tenant: Tenant, event_id: str, ticket_id: str, config: Config) -> TicketType:
    """Return one ticket type with its obstacles. NotFound."""
    return _with_obstacles(tenant, get(tenant.id, event_id, ticket_id), config)


def names(event_id: str) -> Sequence[TicketType]:
    """Return all ticket types of an event, by position, with id, name and `admission` only."""
    return _names.rows(event_id=event_id)


def get(tenant_id: str, event_id: str, ticket_id: str) -> TicketType:
    """Return one ticket type with its event. NotFound."""
    found = _by_id.first(tenant_id=tenant_id, event_id=event_id, ticket_id=ticket_id)
    return _one(found)


def change(
    tenant: Tenant, event_id: str, ticket_id: str, fields: dict[str, Any], config: Config
) -> TicketType:
    """Change the given fields. Open intents keep their price and chain.

    NotFound, CapacityTooLow; Invalid if two fields contradict each other; HasIntents for
    `admission` if there are payment intents or guests.
    """
    with write_transaction():
        ticket_type = _lock(tenant.id, event_id, ticket_id)
        was = ticket_type.count
        admission = fields.get("admission", ticket_type.admission)
        if admission != ticket_type.admission and _is_used(ticket_type):
            raise HasIntents
        if "chain_id" in fields:
            ticket_type.several_chains = None
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
        if status == Publication.DRAFT and _has_intents(ticket_type):
            raise HasIntents
        ticket_type.status = status
        _save(ticket_type)
    return _with_obstacles(tenant, ticket_type, config)


def move(tenant: Tenant, event_id: str, ticket_id: str, place: int, config: Config) -> TicketType:
    """Show a ticket type at a place among those of its event, from 0. The others make room.

    A place after the last one is the last one. NotFound.
    """
    with write_transaction():
        of_event = TicketType.select().where(
            TicketType.tenant == tenant.id, TicketType.event == event_id
        )
        types = list(locked(of_event.order_by(TicketType.id)))
        moved = _one(next((each for each in types if each.id == ticket_id), None))
        types.sort(key=lambda each: (each.position, each.id))
        types.remove(moved)
        types.insert(place, moved)
        # From 1: so the moved one changes even if all were at 0 before.
        for position, each in enumerate(types, 1):
            if each.position != position:
                each.position = position
                _save(each)
    return read(tenant, event_id, ticket_id, config)


def _has_intents(ticket_type: TicketType) -> bool:
    return bool(IntentItem.select().where(IntentItem.ticket_type == ticket_type).exists())


def _is_used(ticket_type: TicketType) -> bool:
    """Return whether a locked ticket type has orders or guests, or somebody waits for it."""
    admissions = Admission.select().where(
        Admission.event == ticket_type.event, Admission.ticket_type == ticket_type
    )
    is_used = ticket_type.waiting or _has_intents(ticket_type)
    return bool(is_used or admissions.exists())


def _end_sale(ticket_type: TicketType) -> None:
    """Cancel the ticket type's live orders that can be canceled, before it is locked itself."""
    if Publication.CANCELED in PUBLICATION_MOVES[Publication(ticket_type.status)]:
        sale_locks.cancel_sale(TicketType.id == ticket_type.id)
        waiting_ends.cancel(ticket_type.event, TicketType.id == ticket_type.id)


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
    is_paid = ticket_type.price_amount > 0 or ticket_type.free_price
    if is_paid and ticket_type.chain_id is None:
        text = "Required if price_amount is not 0, or free_price is true."
        errors["chain_id"] = [FieldMessage("chain", text)]
    errors |= _wrong_prices(ticket_type)
    if ticket_type.deposit_amount > ticket_type.price_amount:
        text = "Must not be above price_amount."
        errors["deposit_amount"] = [FieldMessage("above_price", text)]
    if ticket_type.min_per_order > ticket_type.max_per_order:
        errors["min_per_order"] = [FieldMessage("above_order", "Must not be above max_per_order.")]
    start: datetime | None = ticket_type.sales_start_at
    end: datetime | None = ticket_type.sales_end_at
    if start is not None and end is not None and end <= start:
        errors["sales_end_at"] = [FieldMessage("sale_end", "Must be after sales_start_at.")]
    if errors:
        raise Invalid(errors)


def _wrong_prices(ticket_type: TicketType) -> dict[str, list[str]]:
    """Return what is wrong with the price and its maximum, if the buyer chooses the price."""
    price, most = ticket_type.price_amount, ticket_type.max_price_amount
    if not ticket_type.free_price:
        text = "Only with free_price."
        return {} if most is None else {"max_price_amount": [FieldMessage("no_free_price", text)]}
    if 0 < price < LEAST_FREE_PRICE:
        text = f"With free_price, must be 0 or at least {LEAST_FREE_PRICE}."
        return {"price_amount": [FieldMessage("least_free_price", text)]}
    if most is not None and most < price:
        text = "Must not be below price_amount."
        return {"max_price_amount": [FieldMessage("below_price", text)]}
    return {}
