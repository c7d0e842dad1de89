"""The surface on which organizers read what they sold."""

from typing import Any

from schemas.sales import SalesQuery, SalesSchema
from ticketing.constants import Role
from ticketing.services.catalog import sales_figures
from ticketing.services.catalog.sales_figures import SalesOfDay
from ticketing.web import auth
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import caller

blp = ApiBlueprint(
    "sales",
    __name__,
    url_prefix="/v1/admin/tenants/<tenant>/sales",
    guard=auth.TenantRole(reads=Role.READ, writes=Role.WRITE),
    description="What was sold.",
)


@blp.get("")
@blp.arguments(SalesQuery, location="query")
@blp.response(200, SalesSchema)
def read_sales(query: dict[str, Any], tenant: str) -> dict[str, list[SalesOfDay]]:
    """Count the orders that were confirmed on each of the last 366 days. Guests do not count."""
    return {"data": sales_figures.by_day(caller().tenant_id, query["event_id"])}
