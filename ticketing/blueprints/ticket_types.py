"""The surface of ticket types, which the paths call tickets."""

from typing import Any

from schemas.base import PageQuery, page_of
from schemas.events import StatusSchema
from schemas.ticket_types import TicketTypeChangeSchema, TicketTypeCreateSchema, TicketTypeSchema
from ticketing.conflicts import CapacityTooLow, HasIntents, InvalidTransition
from ticketing.constants import Role
from ticketing.errors import NotFound
from ticketing.models.ticket_types import TicketType
from ticketing.services.catalog import obstacles, ticket_types
from ticketing.services.pagination import Page
from ticketing.web import auth
from ticketing.web.audited import audited
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import caller, config, page_request
from ticketing.web.idempotency import idempotent

blp = ApiBlueprint(
    "ticket_types",
    __name__,
    url_prefix="/v1/admin/tenants/<tenant>/events/<event_id>/tickets",
    guard=auth.TenantRole(reads=Role.READ, writes=Role.WRITE),
    description="Classes of admission to an event, each with a price, a chain and a capacity.",
)


@blp.get("")
@blp.asks(PageQuery)
@blp.answers(200, page_of(TicketTypeSchema))
@blp.refuses(NotFound)
def list_ticket_types(query: dict[str, Any], tenant: str, event_id: str) -> Page[TicketType]:
    """List the ticket types of an event."""
    event, page = ticket_types.list_page(caller().tenant_id, event_id, page_request(query))
    obstacles.tell_ticket_types(event, page.data, config())
    return page


@blp.post("")
@idempotent
@blp.takes(TicketTypeCreateSchema)
@audited(None)
@blp.answers(201, TicketTypeSchema)
@blp.refuses(NotFound)
def create_ticket_type(body: dict[str, Any], tenant: str, event_id: str) -> TicketType:
    """Create a ticket type, as a draft or published."""
    return _tell(ticket_types.create(caller().tenant_id, event_id, body))


@blp.get("/<ticket_id>")
@blp.answers(200, TicketTypeSchema)
@blp.refuses(NotFound)
def get_ticket_type(tenant: str, event_id: str, ticket_id: str) -> TicketType:
    """Read one ticket type."""
    return _tell(ticket_types.get(caller().tenant_id, event_id, ticket_id))


@blp.patch("/<ticket_id>")
@blp.takes(TicketTypeChangeSchema)
@audited(get_ticket_type)
@blp.answers(200, TicketTypeSchema)
@blp.refuses(NotFound, CapacityTooLow)
def change_ticket_type(
    body: dict[str, Any], tenant: str, event_id: str, ticket_id: str
) -> TicketType:
    """Change some fields of a ticket type. Open intents keep what they were shown."""
    return _tell(ticket_types.change(caller().tenant_id, event_id, ticket_id, body))


@blp.post("/<ticket_id>/status")
@idempotent
@blp.takes(StatusSchema)
@audited(get_ticket_type)
@blp.answers(200, TicketTypeSchema)
@blp.refuses(NotFound, InvalidTransition, HasIntents)
def set_ticket_type_status(
    body: dict[str, Any], tenant: str, event_id: str, ticket_id: str
) -> TicketType:
    """Publish a ticket type, take it back to draft, or cancel it."""
    return _tell(ticket_types.set_status(caller().tenant_id, event_id, ticket_id, body["status"]))


def _tell(ticket_type: TicketType) -> TicketType:
    obstacles.tell_ticket_types(ticket_type.event, [ticket_type], config())
    return ticket_type
