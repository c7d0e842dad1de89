"""The tenants surface: an organizer's own account and its settings."""

from typing import Any

from schemas.tenants import TenantChangeSchema, TenantSchema
from ticketing.models.tenants import Tenant
from ticketing.roles import Role
from ticketing.services.access import tenants
from ticketing.web import auth
from ticketing.web.audited import audited
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import caller, tenant_of_path

blp = ApiBlueprint(
    "tenants",
    __name__,
    url_prefix="/v1/admin/tenants/<tenant>",
    guard=auth.TenantRole(reads={Role.ADMIN}, writes={Role.ADMIN}),
    description="The organizer's account: its name, and what its pages show.",
)


@blp.get("")
@blp.response(200, TenantSchema)
def get_tenant(tenant: str) -> Tenant:
    """Read the tenant."""
    return tenant_of_path()


@blp.patch("")
@blp.arguments(TenantChangeSchema)
@blp.response(200, TenantSchema)
@audited(TenantSchema, before=tenants.get)
def change_tenant(body: dict[str, Any], tenant: str) -> Tenant:
    """Change some settings of the tenant. Null removes a setting."""
    return tenants.change(caller().tenant_id, body)
