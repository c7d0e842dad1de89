"""The public listing: published events and their published ticket types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from peewee import ModelSelect

from ticketing import clock, ids
from ticketing.config import Config
from ticketing.constants import OVER_AFTER_START, Publication
from ticketing.db.connection import snapshot
from ticketing.errors import NotFound
from ticketing.models.events import Event
from ticketing.models.prepared import Prepared
from ticketing.models.tenants import Tenant
from ticketing.models.ticket_types import TicketType
from ticketing.services import catalog_version, chains
from ticketing.services.access import tenants
from ticketing.services.catalog import obstacles
from ticketing.services.catalog.obstacles import Circumstances
from ticketing.services.catalog_version import Versioned
from ticketing.services.orders import questions, stock
from ticketing.services.pagination import Page, PageRequest, paginate
from ticketing.services.wallets import issuing


def _published_events(tenant_id: Any) -> ModelSelect[Event]:
    return Event.select().where(Event.tenant == tenant_id, Event.status == Publication.PUBLISHED)


@dataclass(frozen=True)
class Listing:
    """A published event with its questions, and its published ticket types."""

    event: Event
    is_over: bool
    ticket_types: Page[TicketType]


@Prepared
def _published_by_id(tenant_id: Any, event_id: Any) -> ModelSelect[Event]:
    return _published_events(tenant_id).where(Event.id == event_id)


@Prepared
def _published_by_slug(tenant_id: Any, slug: Any) -> ModelSelect[Event]:
    return _published_events(tenant_id).where(Event.slug == slug)


@Prepared
def _canceled_by_slug(tenant_id: Any, slug: Any) -> ModelSelect[Event]:
    return Event.select().where(
        Event.tenant == tenant_id,
        Event.slug == slug,
        Event.status == Publication.CANCELED,
        Event.was_published,
    )


def list_events(tenant: Tenant, page: PageRequest) -> Versioned[Page[Event]]:
    """Return a page of a tenant's published events, the earliest first."""
    version = catalog_version.of_tenant(tenant, clock.now())
    order = [Event.start_at, Event.id]
    found = paginate(_published_events(tenant.id), order, page, scope=f"public {tenant.id}")
    return Versioned(found, version)


def list_coming(tenant: Tenant, page: PageRequest) -> Page[Event]:
    """Return a page of a tenant's published events that are not over, the earliest first."""
    now = clock.now()
    is_coming = (Event.end_at > now) | (
        Event.end_at.is_null() & (Event.start_at > now - OVER_AFTER_START)
    )
    query = _published_events(tenant.id).where(is_coming)
    return paginate(query, [Event.start_at, Event.id], page, scope=f"coming {tenant.id}")


def page_of(event: Event, config: Config) -> str | None:
    """Return the URL of the page of an event. None if it is not published, or has no address."""
    is_published = event.status == Publication.PUBLISHED
    if config.public_url is None or not is_published:
        return None
    return f"{config.public_url}/{event.tenant.slug}/{event.slug}"


def get_event(tenant: Tenant, event_reference: str) -> Versioned[Event]:
    """Return one published event by id or slug, with its questions. NotFound."""
    version = catalog_version.of_tenant(tenant, clock.now())
    event = find_event(tenant, event_reference)
    event.questions = questions.for_public(event)
    return Versioned(event, version)


def find_event(tenant: Tenant, event_reference: str) -> Event:
    """Return a tenant's published event by id or slug. NotFound."""
    if ids.is_id(ids.EVENT, event_reference):
        event = _published_by_id.first(tenant_id=tenant.id, event_id=event_reference)
    elif tenants.SLUG.fullmatch(event_reference):
        event = _published_by_slug.first(tenant_id=tenant.id, slug=event_reference)
    else:
        event = None
    return _existing(event)


def _existing(event: Event | None) -> Event:
    if event is None:
        raise NotFound("This event does not exist.")
    return event


def get_canceled_event(tenant: Tenant, slug: str) -> Versioned[Event]:
    """Return an event that was canceled after it was published. NotFound."""
    version = catalog_version.of_tenant(tenant, clock.now())
    event = _canceled_by_slug.first(tenant_id=tenant.id, slug=slug)
    return Versioned(_existing(event), version)


def list_ticket_types(
    tenant: Tenant, event_reference: str, page: PageRequest, config: Config
) -> Versioned[Page[TicketType]]:
    """Return a page of a published event's published ticket types, oldest first. NotFound."""
    found = get_listing(tenant, event_reference, page, config)
    return Versioned(found.value.ticket_types, found.version)


def get_listing(
    tenant: Tenant, event_reference: str, page: PageRequest, config: Config
) -> Versioned[Listing]:
    """Return a published event with a page of its published ticket types. NotFound."""
    now = clock.now()
    with snapshot():
        event = find_event(tenant, event_reference)
        published = TicketType.select().where(
            TicketType.event == event, TicketType.status == Publication.PUBLISHED
        )
        found = paginate(published, [TicketType.id], page, scope=f"public tickets {event.id}")
        left = stock.left_of_event(event)
        version = catalog_version.of_event(tenant, event, found.data, now)
        payable = chains.payable(config.chains, chains.states())
        wallet = issuing.current(tenant)
        event.questions = questions.for_public(event)
    circumstances = Circumstances(wallet, payable, now)
    for ticket_type in found.data:
        ticket_type.availability = obstacles.availability(
            obstacles.of_ticket_type(ticket_type, event, left, circumstances)
        )
    return Versioned(Listing(event, now >= event.over_at, found), version)
