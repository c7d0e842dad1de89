"""The surface on which holders manage their admissions."""

from typing import Any

from schemas.admissions import HeldAdmissionSchema, HolderChangeSchema
from schemas.transfers import TransferCreateSchema, TransferSchema
from ticketing.errors import (
    AdmissionSuspended,
    AdmissionVoid,
    AlreadyRedeemed,
    AnswersClosed,
    NotFound,
    NotReturnable,
    NotTransferable,
    PaymentNotFinal,
    RefundAddressMissing,
    ReturnInProgress,
    ReturnOffered,
    ReturnsClosed,
    TooManyTransfers,
    TransfersClosed,
)
from ticketing.models.admissions import Admission
from ticketing.services import admission_views
from ticketing.services.orders import answers, holders, returns, transfers
from ticketing.services.orders.transfers import Offer
from ticketing.web import cors, secret_guards
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import admission_code, config
from ticketing.web.idempotency import idempotent, never_stored
from ticketing.web.repeated import IN_ADMISSION, held_again

blp = ApiBlueprint(
    "holders",
    __name__,
    url_prefix="/v1/checkout/tenants/<tenant>/admissions/<admission_id>",
    guard=secret_guards.Holder(),
    description="Read an admission, name its holder, transfer it, and give it back.",
)
cors.open_to_all(blp)


def _canceled_again(stored: dict[str, Any]) -> dict[str, Any]:
    return held_again(stored, shows_code=admission_code() is not None)


def _offer_again(stored: dict[str, Any]) -> dict[str, Any]:
    offer = transfers.offer_again(stored["id"], config())
    return {"offer": offer and offer.offer, "url": offer and offer.url}


@blp.get("")
@blp.response(200, HeldAdmissionSchema)
@blp.raises(NotFound)
def get_held_admission(tenant: str, admission_id: str) -> Admission:
    """Read an admission with its QR code. Only a caller who sent the code gets the code."""
    return _shown(holders.get(tenant, admission_id, admission_code()))


@blp.patch("")
@blp.arguments(HolderChangeSchema)
@blp.response(200, HeldAdmissionSchema)
@blp.raises(NotFound, AdmissionVoid, AlreadyRedeemed, NotTransferable, AnswersClosed)
def name_holder(body: dict[str, Any], tenant: str, admission_id: str) -> Admission:
    """Name the holder, or answer questions until the doors open.

    If the ticket type is not transferable, the holder can be named once.
    """
    return _shown(answers.change_held(tenant, admission_id, admission_code(), **body))


@blp.post("/transfer")
@idempotent
@blp.arguments(TransferCreateSchema)
@blp.response(201, TransferSchema)
@blp.raises(
    NotFound,
    AdmissionVoid,
    AlreadyRedeemed,
    AdmissionSuspended,
    ReturnOffered,
    NotTransferable,
    TransfersClosed,
    PaymentNotFinal,
    TooManyTransfers,
)
@never_stored("offer", "url", shown_again=_offer_again)
def offer_transfer(body: dict[str, Any], tenant: str, admission_id: str) -> Offer:
    """Offer the admission to somebody else. An earlier offer ends."""
    return transfers.offer(tenant, admission_id, admission_code(), body["holder"], config())


@blp.post("/transfer/cancel")
@idempotent
@blp.response(200, HeldAdmissionSchema)
@blp.raises(NotFound)
@never_stored(*IN_ADMISSION, shown_again=_canceled_again)
def cancel_transfer(tenant: str, admission_id: str) -> Admission:
    """Take the offer back. Without an open offer, nothing changes."""
    return _shown(transfers.cancel(tenant, admission_id, admission_code()))


@blp.post("/return")
@idempotent
@blp.response(200, HeldAdmissionSchema)
@blp.raises(
    NotFound,
    AdmissionVoid,
    AlreadyRedeemed,
    AdmissionSuspended,
    NotReturnable,
    ReturnsClosed,
    PaymentNotFinal,
    RefundAddressMissing,
)
@never_stored(*IN_ADMISSION, shown_again=_canceled_again)
def give_back(tenant: str, admission_id: str) -> Admission:
    """Give the admission back. If its place is sold on, the amount goes to the order's buyer.

    Until then it stays valid, and can be kept after all. An open transfer ends. A repeat changes
    nothing. It goes to the address that the order has stated.
    """
    return _shown(returns.offer(tenant, admission_id, admission_code()))


@blp.post("/return/cancel")
@idempotent
@blp.response(200, HeldAdmissionSchema)
@blp.raises(NotFound, ReturnInProgress)
@never_stored(*IN_ADMISSION, shown_again=_canceled_again)
def keep_after_all(tenant: str, admission_id: str) -> Admission:
    """Keep an admission that was given back. If it was not, nothing changes."""
    return _shown(returns.cancel(tenant, admission_id, admission_code()))


def _shown(admission: Admission) -> Admission:
    shows_code = admission_code() is not None
    return admission_views.for_holder(admission, config().keyring, shows_code=shows_code)
