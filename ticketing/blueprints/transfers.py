"""The surface on which somebody accepts an admission that its holder has offered."""

from functools import partial
from typing import Any

from schemas.admissions import HeldAdmissionSchema
from schemas.transfers import TransferAcceptSchema
from ticketing.errors import (
    AdmissionSuspended,
    AdmissionVoid,
    AlreadyRedeemed,
    NotFound,
    NotTransferable,
    OfferEnded,
    PaymentNotFinal,
    ReturnOffered,
    TransfersClosed,
)
from ticketing.limits import CallClass
from ticketing.models.admissions import Admission
from ticketing.services import admission_views
from ticketing.services.orders import transfers
from ticketing.web import auth, cors
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import config, tenant_of_path
from ticketing.web.idempotency import idempotent, never_stored
from ticketing.web.repeated import IN_ADMISSION, held_again

blp = ApiBlueprint(
    "transfers",
    __name__,
    url_prefix="/v1/checkout/tenants/<tenant>/transfers",
    guard=auth.Open(CallClass.CHECKOUT),
    description="Accept an admission. The offer in the body is the credential.",
)
cors.open_to_all(blp)


@blp.post("/accept")
@idempotent
@blp.arguments(TransferAcceptSchema)
@blp.response(200, HeldAdmissionSchema)
@blp.raises(
    NotFound,
    OfferEnded,
    AdmissionVoid,
    AlreadyRedeemed,
    AdmissionSuspended,
    ReturnOffered,
    NotTransferable,
    TransfersClosed,
    PaymentNotFinal,
)
@never_stored(*IN_ADMISSION, shown_again=partial(held_again, shows_code=True))
def accept_transfer(body: dict[str, Any], tenant: str) -> Admission:
    """Accept an offered admission and get its new code. The old code and QR code end."""
    keyring = config().keyring
    admission = transfers.accept(tenant_of_path(), body["offer"], body["holder"], keyring)
    return admission_views.for_holder(admission, keyring, shows_code=True)
