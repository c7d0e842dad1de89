"""The ticket types surface. In paths, a ticket type is called `tickets`."""

from typing import Any

from schemas.base import PageQuery, page_of
from schemas.events import StatusSchema
from schemas.ticket_types import TicketTypeChangeSchema, TicketTypeCreateSchema, TicketTypeSchema
from ticketing.errors import CapacityTooLow, HasIntents, InvalidTransition, NotFound
from ticketing.models.ticket_types import TicketType
from ticketing.roles import Role
from ticketing.services.catalog import ticket_types
from ticketing.services.pagination import Page
from ticketing.web import auth
from ticketing.web.audited import audited
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import config, page_request, tenant_of_path
from ticketing.web.event_scope import ONE_EVENT
from ticketing.web.idempotency import idempotent

blp = ApiBlueprint(
    "ticket_types",
    __name__,
    url_prefix="/v1/admin/tenants/<tenant>/events/<event_id>/tickets",
    guard=auth.TenantRole(reads={Role.READ, Role.FINANCE}, writes={Role.WRITE}, scope=ONE_EVENT),
    description="Classes of admission to an event, each with a price, a chain and a capacity.",
)


@blp.get("")
@blp.arguments(PageQuery, location="query")
@blp.response(200, page_of(TicketTypeSchema))
@blp.raises(NotFound)
def list_ticket_types(query: dict[str, Any], tenant: str, event_id: str) -> Page[TicketType]:
    """List the ticket types of an event."""
    return ticket_types.list_page(tenant_of_path(), event_id, page_request(query), config())


@blp.post("")
@idempotent
@blp.arguments(TicketTypeCreateSchema)
@blp.response(201, TicketTypeSchema)
@audited(TicketTypeSchema)
@blp.raises(NotFound)
def create_ticket_type(body: dict[str, Any], tenant: str, event_id: str) -> TicketType:
    """Create a ticket type, as a draft or published."""
    return ticket_types.create(tenant_of_path(), event_id, body, config())


@blp.get("/<ticket_id>")
@blp.response(200, TicketTypeSchema)
@blp.raises(NotFound)
def get_ticket_type(tenant: str, event_id: str, ticket_id: str) -> TicketType:
    """Read one ticket type."""
    return ticket_types.read(tenant_of_path(), event_id, ticket_id, config())


@blp.patch("/<ticket_id>")
@blp.arguments(TicketTypeChangeSchema)
@blp.response(200, TicketTypeSchema)
@audited(TicketTypeSchema, before=ticket_types.get)
@blp.raises(NotFound, CapacityTooLow)
def change_ticket_type(
    body: dict[str, Any], tenant: str, event_id: str, ticket_id: str
) -> TicketType:
    """Change some fields of a ticket type. Open intents keep their price and chain."""
    return ticket_types.change(tenant_of_path(), event_id, ticket_id, body, config())


@blp.post("/<ticket_id>/status")
@idempotent
@blp.arguments(StatusSchema)
@blp.response(200, TicketTypeSchema)
@audited(TicketTypeSchema, before=ticket_types.get)
@blp.raises(NotFound, InvalidTransition, HasIntents)
def set_ticket_type_status(
    body: dict[str, Any], tenant: str, event_id: str, ticket_id: str
) -> TicketType:
    """Publish a ticket type, take it back to draft, or cancel it."""
    return ticket_types.set_status(tenant_of_path(), event_id, ticket_id, body["status"], config())
