"""The surface on which organizers erase personal data."""

from schemas.admissions import AdmissionSchema
from schemas.intents import AdminIntentSchema
from ticketing.errors import NotFound
from ticketing.models.admissions import Admission
from ticketing.models.payment_intents import PaymentIntent
from ticketing.roles import Role
from ticketing.services import erasure
from ticketing.services.orders import admissions, intents
from ticketing.web import auth
from ticketing.web.audited import erased
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import caller
from ticketing.web.idempotency import idempotent, never_stored
from ticketing.web.repeated import IN_ORDER, order_again

blp = ApiBlueprint(
    "erasure",
    __name__,
    url_prefix="/v1/admin/tenants/<tenant>",
    guard=auth.TenantRole(reads={Role.ADMIN}, writes={Role.ADMIN}),
    description="Erases names and email addresses. Amounts and chain addresses stay.",
)


@blp.post("/intents/<intent_id>/erase")
@idempotent
@blp.response(200, AdminIntentSchema)
@blp.raises(NotFound)
@never_stored(IN_ORDER, shown_again=order_again)
def erase_intent(tenant: str, intent_id: str) -> PaymentIntent:
    """Erase the names and email addresses of an order and its admissions, everywhere.

    Admissions that were transferred belong to somebody else. They are erased by their own id.
    """
    erased(erasure.erase_intent, intent_id)
    return intents.read(caller().tenant_id, intent_id)


@blp.post("/admissions/<admission_id>/erase")
@idempotent
@blp.response(200, AdmissionSchema)
@blp.raises(NotFound)
def erase_admission(tenant: str, admission_id: str) -> Admission:
    """Erase the names and email addresses of an admission's holder, everywhere."""
    erased(erasure.erase_admission, admission_id)
    return admissions.get(caller().tenant_id, admission_id)
