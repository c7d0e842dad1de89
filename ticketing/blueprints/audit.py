"""The organizer's view of whether their books are right."""

from typing import Any

from schemas.audit import AuditSchema
from ticketing.blueprints import guards
from ticketing.blueprints.context import caller
from ticketing.blueprints.surface import Surface
from ticketing.constants import Role
from ticketing.services import audit

blp = Surface(
    "audit",
    __name__,
    url_prefix="/v1/admin/tenants/<tenant>/audit",
    guard=guards.TenantRole(reads=Role.READ, writes=Role.WRITE),
    description="The proof that stock and money add up.",
)


@blp.get("")
@blp.answers(200, AuditSchema)
def get_audit(tenant: str) -> dict[str, Any]:
    """Prove the tenant's books."""
    breaches = audit.audit(caller().tenant_id)
    return {"ok": not breaches, "breaches": breaches}
