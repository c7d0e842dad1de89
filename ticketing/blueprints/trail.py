"""The organizer's view of who changed what. Nothing here, or anywhere, changes it."""

from typing import Any

from schemas.base import page_of
from schemas.trail import TrailEntrySchema, TrailQuery
from ticketing.blueprints import guards
from ticketing.blueprints.context import caller, page_request
from ticketing.blueprints.surface import Surface
from ticketing.constants import Role
from ticketing.models.trail import TrailEntry
from ticketing.services import trail
from ticketing.services.pages import Page

blp = Surface(
    "trail",
    __name__,
    url_prefix="/v1/admin/tenants/<tenant>/trail",
    guard=guards.TenantRole(reads=Role.ADMIN, writes=Role.ADMIN),
    description="Who changed what, when and from where.",
)


@blp.get("")
@blp.asks(TrailQuery)
@blp.answers(200, page_of(TrailEntrySchema))
def list_trail(query: dict[str, Any], tenant: str) -> Page[TrailEntry]:
    """List what was changed, the latest first."""
    return trail.list_page(caller().tenant_id, page=page_request(query), **query)
