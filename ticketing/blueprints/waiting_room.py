"""The surface on which organizers see the waiting room of an event."""

from schemas.waiting_room import WaitingRoomSchema
from ticketing.errors import NotFound
from ticketing.roles import Role
from ticketing.services.catalog import events
from ticketing.services.waiting_room import figures
from ticketing.services.waiting_room.figures import Figures
from ticketing.web import auth
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import caller
from ticketing.web.event_scope import ONE_EVENT

blp = ApiBlueprint(
    "waiting_room",
    __name__,
    url_prefix="/v1/admin/tenants/<tenant>/events/<event_id>/waiting-room",
    guard=auth.TenantRole(reads={Role.READ, Role.FINANCE}, writes=set(), scope=ONE_EVENT),
    description="How many people wait to order tickets of an event.",
)


@blp.get("")
@blp.response(200, WaitingRoomSchema)
@blp.raises(NotFound)
def get_waiting_room(tenant: str, event_id: str) -> Figures:
    """Read how many people wait, how long, and how many are admitted a minute.

    To switch it on or off, change `waiting_room` of the event.
    """
    return figures.of_event(events.get(caller().tenant_id, event_id))
