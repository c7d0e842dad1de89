"""The surface on which organizers check that stock and money are consistent."""

from typing import Any

from schemas.reconciliation import ReconciliationSchema
from ticketing.limits import CallClass
from ticketing.roles import Role
from ticketing.services.access.rate_limits import OneAtATime
from ticketing.services.payments import reconciliation
from ticketing.services.payments.address_check import RECENT, AddressCheck
from ticketing.services.payments.rule_scope import BREACHES_PER_RULE
from ticketing.web import auth
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import caller

blp = ApiBlueprint(
    "reconciliation",
    __name__,
    url_prefix="/v1/admin/tenants/<tenant>/reconciliation",
    guard=auth.TenantRole(
        reads={Role.ADMIN, Role.FINANCE},
        writes={Role.ADMIN, Role.FINANCE},
        counts_as=CallClass.RECONCILIATION,
    ),
    description="Checks that stock, intents, payments and refunds are consistent.",
)

# The lock is in the process, not in the database, so a killed process leaves no lock. At most one
# thread of each process is busy with a reconciliation.
_proof = OneAtATime(retry_after=5)


@blp.get("")
@blp.response(200, ReconciliationSchema)
def get_reconciliation(tenant: str) -> dict[str, Any]:
    """Check the tenant's stock and money, and the newest 2,000 addresses. One request at a time."""
    tenant_id = caller().tenant_id
    with _proof.turn():
        breaches = reconciliation.reconcile(tenant_id)
        for wrong in AddressCheck(tenant_id, most=RECENT).run():
            breaches += wrong[:BREACHES_PER_RULE]
    return {"ok": not breaches, "breaches": breaches}
