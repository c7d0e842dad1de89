"""The events surface: list, create, read, change, publish, cancel, copy."""

from functools import partial
from typing import Any

from schemas.base import page_of
from schemas.events import (
    EventChangeSchema,
    EventCopiesSchema,
    EventCopySchema,
    EventCreateSchema,
    EventListQuery,
    EventSchema,
    EventStatusChangeSchema,
)
from ticketing.constants import Publication
from ticketing.errors import (
    CapacityTooLow,
    HasIntents,
    InThePast,
    InvalidTransition,
    NotFound,
    SlugFixed,
    SlugTaken,
)
from ticketing.models.events import Event
from ticketing.roles import Role
from ticketing.services.catalog import copies, events
from ticketing.services.pagination import Page
from ticketing.web import auth
from ticketing.web.audited import audited, noted
from ticketing.web.audited import copies as audited_copies
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import caller, config, page_request, tenant_of_path
from ticketing.web.event_scope import filtered
from ticketing.web.idempotency import idempotent

blp = ApiBlueprint(
    "events",
    __name__,
    url_prefix="/v1/admin/tenants/<tenant>/events",
    guard=auth.TenantRole(
        reads={Role.READ, Role.FINANCE},
        writes={Role.WRITE},
        scope=filtered("list_events", never=frozenset({"copy_event"})),
    ),
    description="The organizer's events.",
)


@blp.get("")
@blp.arguments(EventListQuery, location="query")
@blp.response(200, page_of(EventSchema))
def list_events(query: dict[str, Any], tenant: str) -> Page[Event]:
    """List the tenant's events."""
    of_caller = caller().event_ids
    page = page_request(query)
    return events.list_page(tenant_of_path(), page, config(), event_ids=of_caller, **query)


@blp.post("")
@idempotent
@blp.arguments(EventCreateSchema)
@blp.response(201, EventSchema)
@audited(EventSchema)
@blp.raises(SlugTaken)
def create_event(body: dict[str, Any], tenant: str) -> Event:
    """Create an event, as a draft or published."""
    return events.create(tenant_of_path(), body, config())


@blp.get("/<event_id>")
@blp.response(200, EventSchema)
@blp.raises(NotFound)
def get_event(tenant: str, event_id: str) -> Event:
    """Read one event."""
    return events.read(tenant_of_path(), event_id, config())


@blp.patch("/<event_id>")
@blp.arguments(EventChangeSchema)
@blp.response(200, EventSchema)
@audited(EventSchema, before=events.get, details=("force", "tell_people"))
@blp.raises(NotFound, SlugTaken, SlugFixed, CapacityTooLow, InThePast)
def change_event(body: dict[str, Any], tenant: str, event_id: str) -> Event:
    """Change some fields of an event. To move it into the past with tickets, send `force`."""
    how = {name: body[name] for name in ("force", "tell_people") if name in body}
    fields = {name: value for name, value in body.items() if name not in how}
    return events.change(tenant_of_path(), event_id, fields, config(), **how)


@blp.post("/<event_id>/status")
@idempotent
@blp.arguments(EventStatusChangeSchema)
@blp.response(200, EventSchema)
@audited(EventSchema, before=events.get, details=("refund",))
@blp.raises(NotFound, InvalidTransition, HasIntents)
def set_event_status(body: dict[str, Any], tenant: str, event_id: str) -> Event:
    """Publish an event, take it back to draft, or cancel it.

    A cancelation voids all admissions. Their prices become owed unless `refund` is false.
    """
    if body["status"] == Publication.CANCELED:
        body.setdefault("refund", True)  # so that the audit log says it
    return events.change_status(
        tenant_of_path(), event_id, body["status"], config(), refund=body.get("refund")
    )


@blp.post("/<event_id>/copy")
@idempotent
@blp.arguments(EventCopySchema)
@blp.response(201, EventCopiesSchema)
@blp.raises(NotFound, SlugTaken)
def copy_event(body: dict[str, Any], tenant: str, event_id: str) -> dict[str, Any]:
    """Copy an event to other dates, with its ticket types and questions. All or none.

    Its other times move with it, as clocks show them. A copy's slug is that of the original with
    the date. Vouchers, orders and devices are not copied.
    """
    copy = partial(
        copies.copy,
        tenant_of_path(),
        event_id,
        body["starts"],
        config(),
        status=body["status"],
        series_slug=body["series"],
    )
    return {"data": noted(event_id, copy, audited_copies)}
