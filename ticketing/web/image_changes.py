"""Set and remove images, and record that. For the API and the console."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from schemas.images import EventImageSchema, LogoSchema
from ticketing.models.events import Event
from ticketing.models.tenants import Tenant
from ticketing.services import images
from ticketing.web.audited import recorded
from ticketing.web.context import caller, config

if TYPE_CHECKING:
    from ticketing.services.image_files import Files


def set_picture(event_id: str, files: Files | None, *, action: str | None = None) -> Event:
    """Give an event another picture, or none. NotFound. `action` is that of `recorded`."""
    event: Event = recorded(
        EventImageSchema,
        partial(images.set_picture, caller().tenant, event_id, files, config()),
        partial(images.event, caller().tenant_id, event_id),
        action=action,
    )
    return event


def set_logo(files: Files | None, *, action: str | None = None) -> Tenant:
    """Give the tenant another logo, or none. NotFound. `action` is that of `recorded`."""
    tenant: Tenant = recorded(
        LogoSchema,
        partial(images.set_logo, caller().tenant_id, files, config()),
        partial(images.logo, caller().tenant_id, config()),
        action=action,
    )
    return tenant
