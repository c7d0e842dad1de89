"""The series surface: what the page of a series of events says."""

from typing import Any

from schemas.series import SeriesChangeSchema, SeriesSchema
from ticketing.errors import NotFound
from ticketing.models.series import Series
from ticketing.roles import Role
from ticketing.services.catalog import series
from ticketing.web import auth
from ticketing.web.audited import audited
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import tenant_of_path

blp = ApiBlueprint(
    "series",
    __name__,
    url_prefix="/v1/admin/tenants/<tenant>/series",
    guard=auth.TenantRole(reads={Role.READ, Role.FINANCE}, writes={Role.WRITE}),
    description="Series: events that belong together, with a page of their own.",
)


@blp.get("/<slug>")
@blp.response(200, SeriesSchema)
@blp.raises(NotFound)
def get_series(tenant: str, slug: str) -> Series:
    """Read what the page of a series says. A series exists while an event names it."""
    return series.read(tenant_of_path().id, slug)


@blp.patch("/<slug>")
@blp.arguments(SeriesChangeSchema)
@blp.response(200, SeriesSchema)
@audited(SeriesSchema, before=series.read)
@blp.raises(NotFound)
def change_series(body: dict[str, Any], tenant: str, slug: str) -> Series:
    """Change what the page of a series says. Nobody is told, and its events stay as they are."""
    return series.change(tenant_of_path(), slug, body)
