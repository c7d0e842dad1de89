"""The organizer's view of whether their books are right."""

from typing import Any

from schemas.reconciliation import AuditSchema
from ticketing.constants import Role
from ticketing.services.payments import reconciliation
from ticketing.web import auth
from ticketing.web.blueprint import Surface
from ticketing.web.context import caller

blp = Surface(
    "audit",
    __name__,
    url_prefix="/v1/admin/tenants/<tenant>/audit",
    guard=auth.TenantRole(reads=Role.READ, writes=Role.WRITE),
    description="The proof that stock and money add up.",
)


@blp.get("")
@blp.answers(200, AuditSchema)
def get_audit(tenant: str) -> dict[str, Any]:
    """Prove the tenant's books."""
    breaches = reconciliation.audit(caller().tenant_id)
    return {"ok": not breaches, "breaches": breaches}
