"""The public surface: published events and ticket types, without a credential."""

from typing import Any

from schemas.base import PageQuery, page_of
from schemas.events import PublicEventDetailSchema, PublicEventListQuery, PublicEventSchema
from schemas.ticket_keys import TicketKeysSchema
from schemas.ticket_types import PublicTicketTypeSchema
from ticketing.errors import NotFound
from ticketing.limits import CallClass
from ticketing.models.events import Event
from ticketing.models.ticket_types import TicketType
from ticketing.services.catalog import calendars, public_listing
from ticketing.services.catalog.public_listing import SeriesListing
from ticketing.services.catalog_version import Versioned
from ticketing.services.door import ticket_signing
from ticketing.services.pagination import Page
from ticketing.web import auth, cors
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.conditional import conditional
from ticketing.web.context import config, page_request, tenant_of_path

blp = ApiBlueprint(
    "public",
    __name__,
    url_prefix="/v1/public/tenants/<tenant>",
    guard=auth.Open(CallClass.PUBLIC),
    description="Published events and ticket types. No credential is needed.",
)
cors.open_to_all(blp)


def _ics(event: Event) -> bytes:
    return calendars.ics([(event, public_listing.page_of(event, config()))]).encode()


def _ics_of_series(listing: SeriesListing) -> bytes:
    pages = [(each, public_listing.page_of(each, config())) for each in listing.events]
    return calendars.ics(pages).encode()


@blp.get("/events")
@blp.arguments(PublicEventListQuery, location="query")
@blp.cached(page_of(PublicEventSchema))
@blp.raises(NotFound)
def list_public_events(query: dict[str, Any], tenant: str) -> Versioned[Page[Event]]:
    """List the published events of a tenant, the earliest first. Unlisted ones are left out."""
    page = page_request(query)
    return public_listing.list_events(tenant_of_path(), page, config(), query["series"])


@blp.get("/events/<event_id>")
@blp.cached(PublicEventDetailSchema)
@blp.raises(NotFound)
def get_public_event(tenant: str, event_id: str) -> Versioned[Event]:
    """Read one published event by its id or slug, also an unlisted one."""
    return public_listing.get_event(tenant_of_path(), event_id, config())


@blp.get("/events/<event_id>.ics")
@blp.cached_text(_ics, calendars.CONTENT_TYPE, example=calendars.EXAMPLE, description="A calendar")
@blp.raises(NotFound)
def get_public_event_ics(tenant: str, event_id: str) -> Versioned[Event]:
    """Read one published event, by its id or slug, as an iCalendar file."""
    return public_listing.get_event(tenant_of_path(), event_id, config())


@blp.get("/series/<slug>.ics")
@blp.cached_text(
    _ics_of_series, calendars.CONTENT_TYPE, example=calendars.EXAMPLE, description="A calendar"
)
@blp.raises(NotFound)
def get_public_series_ics(tenant: str, slug: str) -> Versioned[SeriesListing]:
    """Read the coming events of a series as an iCalendar file."""
    return public_listing.get_series(tenant_of_path(), slug, config())


@blp.get("/events/<event_id>/tickets")
@blp.arguments(PageQuery, location="query")
@blp.cached(page_of(PublicTicketTypeSchema))
@blp.raises(NotFound)
def list_public_ticket_types(
    query: dict[str, Any], tenant: str, event_id: str
) -> Versioned[Page[TicketType]]:
    """List the published ticket types of a published event. The event is an id or a slug."""
    return public_listing.list_ticket_types(
        tenant_of_path(), event_id, page_request(query), config()
    )


@blp.get("/ticket-keys")
@conditional
@blp.response(200, TicketKeysSchema)
@blp.raises(NotFound)
def list_ticket_keys(tenant: str) -> dict[str, Any]:
    """Read the public keys that check QR codes, as a JWK set (RFC 8037)."""
    keys = ticket_signing.keys_of(tenant_of_path().id, config().keyring)
    return {"keys": ticket_signing.jwks(keys)}
