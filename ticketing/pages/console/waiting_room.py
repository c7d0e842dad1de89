"""The switch of the waiting room of an event, on the console's page of the event."""

from functools import partial

from werkzeug import Response

from schemas.events import EventSchema
from schemas.waiting_room import WaitingRoomModeSchema
from ticketing.pages import forms, typed_forms
from ticketing.pages.console import paths
from ticketing.pages.console.blueprint import ConsoleBlueprint
from ticketing.pages.console.events import event_page
from ticketing.roles import Role
from ticketing.services.catalog import events
from ticketing.web.audited import recorded
from ticketing.web.context import caller, config
from ticketing.web.event_scope import ONE_EVENT

blp = ConsoleBlueprint(
    "waiting_room", __name__, reads={Role.WRITE}, writes={Role.WRITE}, scope=ONE_EVENT
)


@blp.post(paths.event("<event_id>", "waiting-room"))
def change_waiting_room(event_id: str) -> Response:
    """Say when the waiting room of an event opens."""

    def change() -> str:
        fields = typed_forms.read(WaitingRoomModeSchema)
        recorded(
            EventSchema,
            partial(events.change, caller().tenant, event_id, fields, config()),
            partial(events.get, caller().tenant_id, event_id),
            action="events_change_event",
        )
        return f"{paths.event(event_id)}#saved"

    return forms.carried_out(change, partial(event_page, event_id))
