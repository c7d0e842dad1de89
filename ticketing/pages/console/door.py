"""The console's page of an event's door: devices, who is inside, conflicts."""

from functools import partial
from typing import Any

from werkzeug import Response

from schemas.door_devices import (
    DoorDeviceCreateSchema,
    DoorDeviceRevokeSchema,
    DoorDeviceSchema,
    RevokedDoorDeviceSchema,
)
from ticketing.models.door import DoorDevice
from ticketing.models.events import Event
from ticketing.pages import forms, qr, render, typed_forms
from ticketing.pages.console import list_filters, one_time, paths, words
from ticketing.pages.console.blueprint import ConsoleBlueprint
from ticketing.pages.console.charts import entries_chart
from ticketing.pages.console.layout import page
from ticketing.pages.console.one_time import Answer, Secret
from ticketing.pages.forms import Form
from ticketing.roles import Role
from ticketing.services.catalog import events
from ticketing.services.door import devices, stats
from ticketing.web import origin
from ticketing.web.audited import recorded
from ticketing.web.context import caller, config
from ticketing.web.event_scope import ONE_EVENT

_DOOR = paths.event("<event_id>", "door")
_GROUP = 4
"""Characters of a pairing code that are read together."""

# Also its reads: over the API, the counts need this role.
_ONLY_HERE = (
    "This link only works on this computer, because its address is that of the computer itself. For"
    " a phone, the service needs an https address: see docs/organizers.md."
)
_NO_CAMERA = (
    "Phones in this network open this link, but the scanner needs an https address: browsers give"
    " the camera to no other. See docs/organizers.md."
)

blp = ConsoleBlueprint("door", __name__, reads={Role.WRITE}, writes={Role.WRITE}, scope=ONE_EVENT)


@blp.get(_DOOR)
def show_door(event_id: str) -> str:
    """Show the devices of an event, and who is inside."""
    return _page(event_id, Form())


@blp.get(f"{_DOOR}/counts")
def show_counts(event_id: str) -> str:
    """Show the part of the page that changes all the time, without the rest."""
    event = events.get(caller().tenant_id, event_id)
    return render.template("door_counts.html", folder="console", **_counts(event))


@blp.post(f"{_DOOR}/devices")
def create_device(event_id: str) -> Response:
    """Create a device, and show once how to pair it."""
    tenant_id = caller().tenant_id

    def create() -> Response:
        fields = typed_forms.read(DoorDeviceCreateSchema)
        made = one_time.made_once(
            lambda: recorded(
                DoorDeviceSchema,
                lambda: devices.create(tenant_id, event_id, config=config(), **fields),
                action="door_devices_create_door_device",
            )
        )
        return one_time.answer("events", _pairing(made, paths.event(event_id, "door")))

    return forms.answered(create, partial(_page, event_id))


@blp.post(f"{_DOOR}/devices/<device_id>/revoke")
def revoke_device(event_id: str, device_id: str) -> Response:
    """Revoke a device. It can no longer scan. What it let in since a time may be undone."""
    tenant_id, by = caller().tenant_id, caller().credential_id
    event = events.get(tenant_id, event_id)

    def revoke() -> str:
        fields = typed_forms.read(DoorDeviceRevokeSchema, zone=event.timezone)
        since = fields["undo_since"]
        recorded(
            RevokedDoorDeviceSchema,
            lambda: devices.revoke(tenant_id, event_id, device_id, undo_since=since, by=by),
            lambda: devices.get(tenant_id, event_id, device_id),
            action="door_devices_revoke_door_device",
            details={} if since is None else {"undo_since": since},
        )
        return f"{paths.event(event_id, 'door')}#{'revoked' if since is None else 'undone'}"

    return forms.carried_out(revoke, partial(_page, event_id))


def _pairing(made: DoorDevice | None, back: str) -> Answer:
    title = "Pair the device"
    text = (
        "Read this with the camera of the phone, or open the link there, or type the code at"
        " /door/. It works once, within 10 minutes."
    )
    if made is None:
        return Answer(title, text, back, None)
    if origin.is_of_this_machine():
        text = f"{_ONLY_HERE} {text}"
    elif not origin.is_https():
        text = f"{_NO_CAMERA} {text}"
    code = made.pairing_code
    link = origin.origin() + devices.PAIRING_PATH + code
    groups = "-".join(code[at : at + _GROUP] for at in range(0, len(code), _GROUP))
    return Answer(title, text, back, [Secret("Link", link), Secret("Code", groups)], qr.svg(link))


def _page(event_id: str, form: Form) -> str:
    tenant_id = caller().tenant_id
    event = events.get(tenant_id, event_id)
    found = devices.list_page(tenant_id, event_id, list_filters.page_request())
    return page(
        "door.html",
        "events",
        form=form,
        devices=found.data,
        next_page=list_filters.next_page(found, {}),
        curve=entries_chart(stats.entries(event.id)),
        **_counts(event),
    )


def _counts(event: Event) -> dict[str, Any]:
    return {
        "event": event,
        "zone": event.timezone,
        "counts": stats.of(event.id),
        "conspicuous": stats.conspicuous(event.id),
        "words": words,
    }
