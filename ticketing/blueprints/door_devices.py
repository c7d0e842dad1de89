"""The door devices surface: list, create, revoke."""

from typing import Any

from schemas.base import PageQuery, page_of
from schemas.door_devices import (
    DoorDeviceCreateSchema,
    DoorDeviceRevokeSchema,
    DoorDeviceSchema,
    NewDoorDeviceSchema,
    RevokedDoorDeviceSchema,
)
from ticketing.errors import NotFound
from ticketing.models.door import DoorDevice
from ticketing.roles import Role
from ticketing.services.door import devices
from ticketing.services.pagination import Page
from ticketing.web import auth
from ticketing.web.audited import audited
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import caller, config, page_request
from ticketing.web.event_scope import ONE_EVENT
from ticketing.web.idempotency import idempotent, never_stored

blp = ApiBlueprint(
    "door_devices",
    __name__,
    url_prefix="/v1/admin/tenants/<tenant>/events/<event_id>/door-devices",
    guard=auth.TenantRole(reads={Role.READ, Role.FINANCE}, writes={Role.WRITE}, scope=ONE_EVENT),
    description="Phones and scanners that check admissions at one event.",
)


@blp.get("")
@blp.arguments(PageQuery, location="query")
@blp.response(200, page_of(DoorDeviceSchema))
@blp.raises(NotFound)
def list_door_devices(query: dict[str, Any], tenant: str, event_id: str) -> Page[DoorDevice]:
    """List the door devices of an event."""
    return devices.list_page(caller().tenant_id, event_id, page_request(query))


@blp.post("")
@idempotent
@blp.arguments(DoorDeviceCreateSchema)
@blp.response(201, NewDoorDeviceSchema)
@audited(DoorDeviceSchema)
@never_stored("pairing_code", "pairing_url")
@blp.raises(NotFound)
def create_door_device(body: dict[str, Any], tenant: str, event_id: str) -> DoorDevice:
    """Create a door device. Only this response contains its pairing code."""
    return devices.create(caller().tenant_id, event_id, config=config(), **body)


@blp.post("/<device_id>/revoke")
@idempotent
@blp.arguments(DoorDeviceRevokeSchema)
@blp.response(200, RevokedDoorDeviceSchema)
@audited(RevokedDoorDeviceSchema, before=devices.get, details=("undo_since",))
@blp.raises(NotFound)
def revoke_door_device(
    body: dict[str, Any], tenant: str, event_id: str, device_id: str
) -> DoorDevice:
    """Revoke a door device: its token ends at once. It may be revoked again, to undo more.

    With `undo_since`, what it let in since then is undone, and the oldest conflicts of other
    devices take the places. For example, a phone was stolen.
    """
    by = caller().credential_id
    return devices.revoke(caller().tenant_id, event_id, device_id, by=by, **body)
