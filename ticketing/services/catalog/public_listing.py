"""What anybody may see: published events and their published ticket types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from peewee import ModelSelect

from ticketing import clock, ids
from ticketing.config import Config
from ticketing.constants import CURRENCY, MICRO_UNIT_DECIMALS, Availability, Publication
from ticketing.errors import NotFound
from ticketing.models.events import Event
from ticketing.models.prepared import Prepared
from ticketing.models.tenants import Tenant
from ticketing.models.ticket_types import TicketType
from ticketing.services import catalog_version, chains
from ticketing.services.access import tenants
from ticketing.services.catalog import obstacles
from ticketing.services.catalog.obstacles import Circumstances
from ticketing.services.catalog_version import Version
from ticketing.services.pagination import Page, PageRequest, paginate


def _published_events(tenant_id: Any) -> ModelSelect[Event]:
    return Event.select().where(Event.tenant == tenant_id, Event.status == Publication.PUBLISHED)


@Prepared
def _published_by_id(tenant_id: Any, event_id: Any) -> ModelSelect[Event]:
    return _published_events(tenant_id).where(Event.id == event_id)


@Prepared
def _published_by_slug(tenant_id: Any, slug: Any) -> ModelSelect[Event]:
    return _published_events(tenant_id).where(Event.slug == slug)


@dataclass(frozen=True)
class PublicTicketType:
    """A published ticket type, and whether it can be bought right now."""

    ticket_type: TicketType
    availability: Availability
    currency: str = CURRENCY
    decimals: int = MICRO_UNIT_DECIMALS


def version_of_tenant(tenant: str, **_: str) -> Version:
    """Return how a tenant's published events stand, whichever of them are shown. NotFound."""
    return catalog_version.standing(tenants.find(tenant).id, None)


def version_of_event(tenant: str, event_id: str) -> Version:
    """Return how the ticket types of a published event stand, their stock included. NotFound."""
    found = tenants.find(tenant)
    return catalog_version.standing(found.id, find_event(found, event_id).id)


def list_events(tenant_reference: str, page: PageRequest) -> Page[Event]:
    """Return a tenant's published events, soonest first. NotFound."""
    tenant = tenants.find(tenant_reference)
    return paginate(
        _published_events(tenant.id), [Event.start_at, Event.id], page, scope=f"public {tenant.id}"
    )


def get_event(tenant_reference: str, event_reference: str) -> Event:
    """Return one published event by id or slug. NotFound."""
    return find_event(tenants.find(tenant_reference), event_reference)


def find_event(tenant: Tenant, event_reference: str) -> Event:
    """Return a tenant's published event by id or slug. NotFound."""
    if ids.is_id(ids.EVENT, event_reference):
        event = _published_by_id.first(tenant_id=tenant.id, event_id=event_reference)
    elif tenants.SLUG.fullmatch(event_reference):
        event = _published_by_slug.first(tenant_id=tenant.id, slug=event_reference)
    else:
        event = None
    if event is None:
        raise NotFound("There is no such event.")
    return event


def list_ticket_types(
    tenant_reference: str, event_reference: str, page: PageRequest, config: Config
) -> Page[PublicTicketType]:
    """Return the published ticket types of a published event, as made. NotFound."""
    tenant = tenants.find(tenant_reference)
    event = find_event(tenant, event_reference)
    found = paginate(
        TicketType.select().where(
            TicketType.event == event, TicketType.status == Publication.PUBLISHED
        ),
        [TicketType.id],
        page,
        scope=f"public tickets {event.id}",
    )
    payable = chains.payable(config.chains, chains.states())
    circumstances = Circumstances(tenant.wallet_id is not None, payable, clock.now())
    shown = [
        PublicTicketType(
            ticket_type,
            obstacles.availability(obstacles.of_ticket_type(ticket_type, event, circumstances)),
        )
        for ticket_type in found.data
    ]
    return Page(shown, found.next_cursor)
