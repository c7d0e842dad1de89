"""The surface on which organizers read admissions."""

from typing import Any

from schemas.admissions import AdmissionListQuery, AdmissionSchema
from schemas.base import page_of
from ticketing.constants import Role
from ticketing.models.admissions import Admission
from ticketing.services.orders import admissions
from ticketing.services.pagination import Page
from ticketing.web import auth
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import caller, page_request

blp = ApiBlueprint(
    "admissions",
    __name__,
    url_prefix="/v1/admin/tenants/<tenant>",
    guard=auth.TenantRole(reads=Role.READ, writes=Role.WRITE),
    description="The admissions that were sold or given to guests.",
)


@blp.get("/admissions")
@blp.arguments(AdmissionListQuery, location="query")
@blp.response(200, page_of(AdmissionSchema))
def list_admissions(query: dict[str, Any], tenant: str) -> Page[Admission]:
    """List the tenant's admissions, without their codes."""
    return admissions.list_page(caller().tenant_id, page_request(query), **query)
