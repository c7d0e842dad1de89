"""The public surface: published events and ticket types, for anybody."""

from typing import Any

from schemas.base import PageQuery, page_of
from schemas.events import PublicEventSchema
from schemas.ticket_types import PublicTicketTypeSchema
from ticketing.constants import CallClass
from ticketing.errors import NotFound
from ticketing.models.events import Event
from ticketing.services.catalog import public_listing
from ticketing.services.catalog.public_listing import PublicTicketType
from ticketing.services.pagination import Page
from ticketing.web import auth, cors
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import config, page_request
from ticketing.web.response_cache import cached

blp = ApiBlueprint(
    "public",
    __name__,
    url_prefix="/v1/public/tenants/<tenant>",
    guard=auth.Open(CallClass.PUBLIC),
    description="What is on sale, without credentials.",
)
cors.open_to_all(blp)


@blp.get("/events")
@cached(public_listing.version_of_tenant)
@blp.asks(PageQuery)
@blp.answers(200, page_of(PublicEventSchema))
@blp.refuses(NotFound)
def list_public_events(query: dict[str, Any], tenant: str) -> Page[Event]:
    """List the published events of a tenant, soonest first."""
    return public_listing.list_events(tenant, page_request(query))


@blp.get("/events/<event_id>")
@cached(public_listing.version_of_tenant)
@blp.answers(200, PublicEventSchema)
@blp.refuses(NotFound)
def get_public_event(tenant: str, event_id: str) -> Event:
    """Read one published event, by its id or slug."""
    return public_listing.get_event(tenant, event_id)


@blp.get("/events/<event_id>/tickets")
@cached(public_listing.version_of_event)
@blp.asks(PageQuery)
@blp.answers(200, page_of(PublicTicketTypeSchema))
@blp.refuses(NotFound)
def list_public_ticket_types(
    query: dict[str, Any], tenant: str, event_id: str
) -> Page[PublicTicketType]:
    """List the published ticket types of a published event, by its id or slug."""
    return public_listing.list_ticket_types(tenant, event_id, page_request(query), config())
