"""The surface on which organizers read admissions, issue them to guests, and take them back."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from schemas.admissions import (
    AdmissionListQuery,
    AdmissionSchema,
    AnsweredAdmissionSchema,
    GuestListSchema,
    GuestsSchema,
    ReissuedAdmissionSchema,
    ReissueSchema,
    VoidSchema,
)
from schemas.base import page_of
from schemas.questions import AnswersChangeSchema
from ticketing.errors import (
    AdmissionVoid,
    AlreadyRedeemed,
    DoorsUnsynced,
    MailNotConfigured,
    NoEmail,
    NotFound,
    NotRedeemed,
    ReturnInProgress,
    ReturnOffered,
    SaleCanceled,
    SoldOut,
    WasTransferred,
)
from ticketing.models.admissions import Admission
from ticketing.roles import Role
from ticketing.services.door import undoing
from ticketing.services.orders import admissions, answers, guest_list, reissues
from ticketing.services.pagination import Page
from ticketing.services.payments import voids
from ticketing.web import auth
from ticketing.web.audited import audited, noted, recorded
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import caller, config, page_request
from ticketing.web.event_scope import filtered
from ticketing.web.idempotency import idempotent, never_stored

blp = ApiBlueprint(
    "admissions",
    __name__,
    url_prefix="/v1/admin/tenants/<tenant>",
    guard=auth.TenantRole(
        reads={Role.READ, Role.FINANCE}, writes={Role.WRITE}, scope=filtered("list_admissions")
    ),
    description="The admissions that were sold or given to guests.",
)


@blp.get("/admissions")
@blp.arguments(AdmissionListQuery, location="query")
@blp.response(200, page_of(AdmissionSchema))
def list_admissions(query: dict[str, Any], tenant: str) -> Page[Admission]:
    """List the tenant's admissions, without their codes."""
    return admissions.list_page(
        caller().tenant_id, page_request(query), event_ids=caller().event_ids, **query
    )


@blp.get("/admissions/<admission_id>")
@blp.response(200, AnsweredAdmissionSchema)
@blp.raises(NotFound)
def get_admission(tenant: str, admission_id: str) -> Admission:
    """Read one admission with its holder's answers, without its code."""
    return answers.read(caller().tenant_id, admission_id)


@blp.patch("/admissions/<admission_id>")
@blp.arguments(AnswersChangeSchema)
@blp.response(200, AnsweredAdmissionSchema)
@blp.raises(NotFound, AdmissionVoid)
def change_answers(body: dict[str, Any], tenant: str, admission_id: str) -> Admission:
    """Change some of the holder's answers, at any time. The audit log has no answers."""
    tenant_id, given = caller().tenant_id, body["answers"]
    changed: Admission = recorded(
        AdmissionSchema,
        partial(answers.change_by_organizer, tenant_id, admission_id, given),
        partial(admissions.get, tenant_id, admission_id),
        details={"answered": sorted(given)},
    )
    return changed


@blp.post("/admissions/<admission_id>/void")
@idempotent
@blp.arguments(VoidSchema)
@blp.response(200, AdmissionSchema)
@audited(AdmissionSchema, before=admissions.get, details=("refund", "transferred", "force"))
@blp.raises(
    NotFound, AdmissionVoid, AlreadyRedeemed, WasTransferred, ReturnInProgress, DoorsUnsynced
)
def void_admission(body: dict[str, Any], tenant: str, admission_id: str) -> Admission:
    """Take back an admission. Its seat goes back on sale. A repeat changes nothing."""
    return voids.void(caller().tenant_id, admission_id, **body)


@blp.post("/admissions/<admission_id>/undo")
@idempotent
@blp.response(200, AdmissionSchema)
@audited(AdmissionSchema, before=admissions.get)
@blp.raises(NotFound, NotRedeemed)
def undo_entry(tenant: str, admission_id: str) -> Admission:
    """Undo the scan that let the holder in. The oldest conflict takes its place."""
    return undoing.undo_entry(caller().tenant_id, admission_id, by=caller().credential_id)


@blp.post("/admissions/<admission_id>/reissue")
@idempotent
@blp.arguments(ReissueSchema)
@blp.response(200, ReissuedAdmissionSchema)
@audited(AdmissionSchema, before=admissions.get, details=("email",))
@never_stored("code")
@blp.raises(NotFound, AdmissionVoid, AlreadyRedeemed, ReturnOffered, MailNotConfigured)
def reissue_admission(body: dict[str, Any], tenant: str, admission_id: str) -> Admission:
    """Give an admission a new code. The old code and QR end. Only this response shows the code.

    With an email address, the code is only sent there.
    """
    email = body.get("email")
    return reissues.reissue(caller().tenant_id, admission_id, email=email, config=config())


@blp.post("/admissions/<admission_id>/send")
@idempotent
@blp.response(200, AdmissionSchema)
@blp.raises(NotFound, AdmissionVoid, NoEmail, MailNotConfigured)
def send_admission(tenant: str, admission_id: str) -> Admission:
    """Mail a ticket to its holder once more: the same link, the same QR code."""
    again = partial(reissues.send_again, caller().tenant_id, admission_id, config())
    return noted(admission_id, again, lambda _: {"sent_again": True})


@blp.post("/events/<event_id>/tickets/<ticket_id>/admissions")
@idempotent
@blp.arguments(GuestListSchema)
@blp.response(201, GuestsSchema)
@audited(AdmissionSchema, details=("reason",), each="admissions")
@never_stored("codes")
@blp.raises(NotFound, SoldOut, SaleCanceled)
def add_guests(
    body: dict[str, Any], tenant: str, event_id: str, ticket_id: str
) -> dict[str, Sequence[Any]]:
    """Issue admissions to guests, all or none. They cost nothing and need no order."""
    guests = guest_list.add(caller().tenant_id, event_id, ticket_id, body["holders"])
    return {"admissions": guests, "codes": [guest.code for guest in guests]}
