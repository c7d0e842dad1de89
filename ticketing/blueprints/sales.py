"""The surface on which organizers read what they sold."""

from typing import Any

from schemas.sales import SalesQuery, SalesSchema
from ticketing.roles import Role
from ticketing.services.catalog import sales_by
from ticketing.services.catalog.sales_by import Sales
from ticketing.web import auth, event_scope
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import caller
from ticketing.web.event_scope import filtered

blp = ApiBlueprint(
    "sales",
    __name__,
    url_prefix="/v1/admin/tenants/<tenant>/sales",
    guard=auth.TenantRole(
        reads={Role.READ, Role.FINANCE}, writes={Role.WRITE}, scope=filtered("read_sales")
    ),
    description="What was sold.",
)


@blp.get("")
@blp.arguments(SalesQuery, location="query")
@blp.response(200, SalesSchema)
def read_sales(query: dict[str, Any], tenant: str) -> dict[str, Sales]:
    """Count what was sold by day, or what was sold of one event by ticket type, voucher or tag.

    By day: the orders that were confirmed on each of the last 366 days, without guests.
    """
    event_scope.check_event(caller(), query.get("event_id"))
    shows_codes = caller().role.holds(Role.WRITE)
    return {"data": sales_by.read(caller().tenant_id, **query, shows_codes=shows_codes)}
