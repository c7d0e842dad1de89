"""The audit log surface: read only. No endpoint can change an entry."""

from typing import Any

from schemas.audit_log import AuditLogEntrySchema, AuditLogQuery
from schemas.base import page_of
from ticketing.models.audit_log import AuditLogEntry
from ticketing.roles import Role
from ticketing.services.access import audit_log
from ticketing.services.pagination import Page
from ticketing.web import auth
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import caller, page_request

blp = ApiBlueprint(
    "audit_log",
    __name__,
    url_prefix="/v1/admin/tenants/<tenant>/audit-log",
    guard=auth.TenantRole(reads={Role.ADMIN}, writes={Role.ADMIN}),
    description="Who changed what, when, and from which address.",
)


@blp.get("")
@blp.arguments(AuditLogQuery, location="query")
@blp.response(200, page_of(AuditLogEntrySchema))
def list_audit_log(query: dict[str, Any], tenant: str) -> Page[AuditLogEntry]:
    """List changes, the latest first."""
    return audit_log.list_page(caller().tenant_id, page=page_request(query), **query)
