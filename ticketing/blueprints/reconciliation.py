"""The organizer's view of whether their books are right."""

from typing import Any

from schemas.reconciliation import ReconciliationSchema
from ticketing.constants import Role
from ticketing.services.payments import reconciliation
from ticketing.web import auth
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import caller

blp = ApiBlueprint(
    "reconciliation",
    __name__,
    url_prefix="/v1/admin/tenants/<tenant>/reconciliation",
    guard=auth.TenantRole(reads=Role.READ, writes=Role.WRITE),
    description="The proof that stock and money add up.",
)


@blp.get("")
@blp.response(200, ReconciliationSchema)
def get_reconciliation(tenant: str) -> dict[str, Any]:
    """Prove the tenant's books."""
    breaches = reconciliation.reconcile(caller().tenant_id)
    return {"ok": not breaches, "breaches": breaches}
