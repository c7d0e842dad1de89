"""The organizer's view of whether their books are right."""

from typing import Any

from schemas.reconciliation import ReconciliationSchema
from ticketing.constants import CallClass, Role
from ticketing.services.access.rate_limits import OneAtATime
from ticketing.services.payments import reconciliation
from ticketing.web import auth
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import caller

blp = ApiBlueprint(
    "reconciliation",
    __name__,
    url_prefix="/v1/admin/tenants/<tenant>/reconciliation",
    guard=auth.TenantRole(reads=Role.ADMIN, writes=Role.ADMIN, counts_as=CallClass.RECONCILIATION),
    description="The proof that stock and money add up.",
)

# In each process, not in the database: a killed process leaves no lock behind, and one thread of a
# process is what the proof may cost.
_proof = OneAtATime(retry_after=5)


@blp.get("")
@blp.response(200, ReconciliationSchema)
def get_reconciliation(tenant: str) -> dict[str, Any]:
    """Prove the tenant's books. One request at a time."""
    with _proof.turn():
        breaches = reconciliation.reconcile(caller().tenant_id)
    return {"ok": not breaches, "breaches": breaches}
