"""The surface on which organizers read admissions, and take them back."""

from typing import Any

from schemas.admissions import AdmissionListQuery, AdmissionSchema, VoidSchema
from schemas.base import page_of
from ticketing.conflicts import AdmissionVoid, AlreadyRedeemed, DoorsUnsynced, WasTransferred
from ticketing.constants import Role
from ticketing.errors import NotFound
from ticketing.models.admissions import Admission
from ticketing.services.orders import admissions
from ticketing.services.pagination import Page
from ticketing.services.payments import voids
from ticketing.web import auth
from ticketing.web.audited import audited
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import caller, page_request
from ticketing.web.idempotency import idempotent

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


@blp.post("/admissions/<admission_id>/void")
@idempotent
@blp.arguments(VoidSchema)
@blp.response(200, AdmissionSchema)
@audited(AdmissionSchema, before=admissions.get, details=("refund", "transferred", "force"))
@blp.raises(NotFound, AdmissionVoid, AlreadyRedeemed, WasTransferred, DoorsUnsynced)
def void_admission(body: dict[str, Any], tenant: str, admission_id: str) -> Admission:
    """Take back an admission. Its seat goes back on sale. A repeat changes nothing."""
    return voids.void(caller().tenant_id, admission_id, **body)
