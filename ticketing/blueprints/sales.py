"""The surface on which organizers read what they sold."""

from typing import Any

from schemas.sales import SalesQuery, SalesSchema
from ticketing.constants import Role
from ticketing.services.catalog import sales_by
from ticketing.services.catalog.sales_by import Sales
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
def read_sales(query: dict[str, Any], tenant: str) -> dict[str, Sales]:
    """Count what was sold by day, or what was sold of one event by ticket type, voucher or tag.

    By day: the orders that were confirmed on each of the last 366 days, without guests.
    """
    shows_codes = caller().role.holds(Role.WRITE)
    return {"data": sales_by.read(caller().tenant_id, **query, shows_codes=shows_codes)}
