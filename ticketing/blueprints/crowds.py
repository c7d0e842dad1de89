"""The surface on which organizers name networks from which many people order."""

from typing import Any

from schemas.crowds import CrowdsChangeSchema, CrowdsSchema
from ticketing.errors import NotFound
from ticketing.models.events import Event
from ticketing.roles import Role
from ticketing.services.catalog import event_crowds, events
from ticketing.web import auth
from ticketing.web.audited import audited
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import caller, config
from ticketing.web.event_scope import ONE_EVENT

blp = ApiBlueprint(
    "crowds",
    __name__,
    url_prefix="/v1/admin/tenants/<tenant>/events/<event_id>/crowds",
    guard=auth.TenantRole(reads={Role.READ, Role.FINANCE}, writes={Role.WRITE}, scope=ONE_EVENT),
    description="Networks behind which many people order, such as a school's.",
)


@blp.get("")
@blp.response(200, CrowdsSchema)
@blp.raises(NotFound)
def get_crowds(tenant: str, event_id: str) -> Event:
    """Read the crowds of an event."""
    return events.get(caller().tenant_id, event_id)


@blp.put("")
@blp.arguments(CrowdsChangeSchema)
@blp.response(200, CrowdsSchema)
@blp.raises(NotFound)
@audited(CrowdsSchema, events.get)
def put_crowds(body: dict[str, Any], tenant: str, event_id: str) -> Event:
    """Replace the crowds of an event.

    Without a credential, the people of a crowd order together at most its `seats` of this event,
    instead of what one client may order. The operator bounds them (CROWD_MOST).
    """
    return event_crowds.replace(caller().tenant_id, event_id, body["crowds"], config())
