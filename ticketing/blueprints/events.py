"""The surface of events: list, create, read, change, publish, cancel."""

from typing import Any

from schemas.base import page_of
from schemas.events import (
    EventChangeSchema,
    EventCreateSchema,
    EventListQuery,
    EventSchema,
    StatusSchema,
)
from ticketing.conflicts import HasIntents, InvalidTransition, SlugFixed, SlugTaken
from ticketing.constants import Role
from ticketing.errors import NotFound
from ticketing.models.events import Event
from ticketing.services.catalog import events, obstacles
from ticketing.services.pagination import Page
from ticketing.web import auth
from ticketing.web.audited import audited
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import caller, config, page_request
from ticketing.web.idempotency import idempotent

blp = ApiBlueprint(
    "events",
    __name__,
    url_prefix="/v1/admin/tenants/<tenant>/events",
    guard=auth.TenantRole(reads=Role.READ, writes=Role.WRITE),
    description="What people attend.",
)


@blp.get("")
@blp.asks(EventListQuery)
@blp.answers(200, page_of(EventSchema))
def list_events(query: dict[str, Any], tenant: str) -> Page[Event]:
    """List the tenant's events."""
    page = events.list_page(caller().tenant_id, page_request(query), **query)
    obstacles.tell_events(caller().tenant_id, page.data, config())
    return page


@blp.post("")
@idempotent
@blp.takes(EventCreateSchema)
@audited(None)
@blp.answers(201, EventSchema)
@blp.refuses(SlugTaken)
def create_event(body: dict[str, Any], tenant: str) -> Event:
    """Create an event, as a draft or published."""
    return _tell(events.create(caller().tenant_id, body))


@blp.get("/<event_id>")
@blp.answers(200, EventSchema)
@blp.refuses(NotFound)
def get_event(tenant: str, event_id: str) -> Event:
    """Read one event."""
    return _tell(events.get(caller().tenant_id, event_id))


@blp.patch("/<event_id>")
@blp.takes(EventChangeSchema)
@audited(get_event)
@blp.answers(200, EventSchema)
@blp.refuses(NotFound, SlugTaken, SlugFixed)
def change_event(body: dict[str, Any], tenant: str, event_id: str) -> Event:
    """Change some fields of an event."""
    return _tell(events.change(caller().tenant_id, event_id, body))


@blp.post("/<event_id>/status")
@idempotent
@blp.takes(StatusSchema)
@audited(get_event)
@blp.answers(200, EventSchema)
@blp.refuses(NotFound, InvalidTransition, HasIntents)
def set_event_status(body: dict[str, Any], tenant: str, event_id: str) -> Event:
    """Publish an event, take it back to draft, or cancel it."""
    return _tell(events.set_status(caller().tenant_id, event_id, body["status"]))


def _tell(event: Event) -> Event:
    obstacles.tell_event(event, config())
    return event
