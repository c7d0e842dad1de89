"""What can go wrong in the domain. No HTTP library is known here: `status` is only a number.

TicketingError                        what every caller may catch
├── BadRequest               400      malformed_json
├── Unauthenticated          401      unauthenticated, invalid_credentials
├── PaymentRequired          402      payment_required
├── Forbidden                403      insufficient_role, wrong_tenant
├── NotFound                 404      not_found
├── Conflict                 409      slug_taken, sold_out, ... (the code is the subclass's)
├── Gone                     410      intent_expired
├── PayloadTooLarge          413      body_too_large
├── UnsupportedMediaType     415      unsupported_media_type
├── Invalid                  422      invalid_request, with the fields at fault
├── KeyReused                422      idempotency_key_reused
└── Unavailable              503      chain_unavailable, database_unavailable
"""

from collections.abc import Mapping
from typing import Any, ClassVar


class TicketingError(Exception):
    """A refusal with a stable `code`, an HTTP `status` and a sentence for a person."""

    status: ClassVar[int]
    title: ClassVar[str]
    code: str
    detail: str
    retry_after: ClassVar[int | None] = None
    """Seconds after which asking again may help."""

    def __init__(self, detail: str | None = None, **extensions: Any) -> None:
        self.detail = detail or self.detail
        self.extensions = extensions
        super().__init__(self.detail)


class BadRequest(TicketingError):
    """The request cannot be read at all."""

    status = 400
    title = "Bad request"
    code = "malformed_json"
    detail = "The body is not well-formed JSON."


class Unauthenticated(TicketingError):
    """No credential came with the request, or not one that is good now."""

    status = 401
    title = "Not authenticated"
    code = "unauthenticated"
    detail = (
        "Send a JWT as 'Authorization: Bearer <JWT>', or an API key as 'X-API-Key', that is"
        " valid now."
    )


class InvalidCredentials(Unauthenticated):
    """What was offered in exchange for a token is not good; why is not told."""

    code = "invalid_credentials"
    detail = "These credentials are not valid."


class PaymentRequired(TicketingError):
    """Nothing, or too little, has arrived at the payment address."""

    status = 402
    title = "Payment required"
    code = "payment_required"
    detail = "The payment address has not received the whole amount yet."


class Forbidden(TicketingError):
    """The credential is good, but not for this."""

    status = 403
    title = "Forbidden"


class InsufficientRole(Forbidden):
    """The credential's role is too low."""

    code = "insufficient_role"
    detail = "The role of this credential does not allow this."


class WrongTenant(Forbidden):
    """The credential belongs to another tenant than the path names."""

    code = "wrong_tenant"
    detail = "This credential does not belong to the tenant in the path."


class NotFound(TicketingError):
    """There is no such thing, or none that the caller may know of."""

    status = 404
    title = "Not found"
    code = "not_found"
    detail = "There is nothing here."


class Conflict(TicketingError):
    """The request is well-formed but the present state does not allow it."""

    status = 409
    title = "Conflict"


class SlugTaken(Conflict):
    """Another one in the same place has this slug."""

    code = "slug_taken"
    detail = "This slug is already taken."


class SlugFixed(Conflict):
    """A published event keeps its slug: people have the link."""

    code = "slug_fixed"
    detail = "The slug can only be changed while the event is a draft."


class InvalidTransition(Conflict):
    """The status cannot be reached from the present one."""

    code = "invalid_transition"
    detail = "The status cannot be changed in this way."


class StillRunning(Conflict):
    """A request with the same Idempotency-Key has not been answered yet."""

    code = "idempotency_still_running"
    detail = "The first request with this Idempotency-Key is still running."
    retry_after = 1


class HasIntents(Conflict):
    """Somebody has begun to buy: it cannot go back to draft."""

    code = "has_intents"
    detail = "It has payment intents, so it can only be canceled."


class CapacityTooLow(Conflict):
    """More is already held and sold than the new capacity."""

    code = "capacity_too_low"
    detail = "More tickets than that are already held or sold."


class MemberExists(Conflict):
    """The tenant already has a member with this email address."""

    code = "member_exists"
    detail = "There is already a member with this email address."


class SoldOut(Conflict):
    """Too few are left for this order."""

    code = "sold_out"
    detail = "There are not enough tickets left for this order."


class SalesNotStarted(Conflict):
    """The sales window has not opened."""

    code = "sales_not_started"
    detail = "Sales have not started yet."


class SalesEnded(Conflict):
    """The sales window has closed."""

    code = "sales_ended"
    detail = "Sales have ended."


class BelowMinimum(Conflict):
    """Fewer than an order must have."""

    code = "below_minimum"
    detail = "The quantity is below the minimum of an order."


class AboveMaximum(Conflict):
    """More than an order may have."""

    code = "above_maximum"
    detail = "The quantity is above the maximum of an order."


class OverMaxAmount(Conflict):
    """The order costs more than the buyer said it may."""

    code = "over_max_amount"
    detail = "The order costs more than max_amount."


class NotPayable(Conflict):
    """It cannot be paid for right now: no wallet, or the chain is not enabled."""

    code = "not_payable"
    detail = "This cannot be paid for right now."


class IntentCanceled(Conflict):
    """The intent was canceled."""

    code = "intent_canceled"
    detail = "This intent was canceled."


class IntentReversed(Conflict):
    """The chain took the payment back; it is confirmed again if the payment returns."""

    code = "intent_reversed"
    detail = "A reorganization of the chain removed the payment of this intent."


class IntentNotCancelable(Conflict):
    """Money has arrived, or the intent has ended: canceling is over."""

    code = "intent_not_cancelable"
    detail = "Only an intent that has received nothing can be canceled."


class NoRefundDue(Conflict):
    """Nothing is to be given back."""

    code = "no_refund_due"
    detail = "Nothing is due back for this intent."


class RefundNotSeen(Conflict):
    """The transaction does not give back what is due, or not deep enough yet."""

    code = "refund_not_seen"
    detail = "This transaction has not sent what is due to whoever paid, or is not final yet."


class Gone(TicketingError):
    """It was there and will not come back."""

    status = 410
    title = "Gone"


class IntentExpired(Gone):
    """The intent was not paid in time."""

    code = "intent_expired"
    detail = "This intent was not paid in time."


class PayloadTooLarge(TicketingError):
    """The body is larger than any request needs."""

    status = 413
    title = "Payload too large"
    code = "body_too_large"
    detail = "A body may have 64 KiB."


class UnsupportedMediaType(TicketingError):
    """The body is not declared as JSON."""

    status = 415
    title = "Unsupported media type"
    code = "unsupported_media_type"
    detail = "Send the body as application/json."


class Invalid(TicketingError):
    """Well-formed, but a field breaks a rule. `errors` names every field at fault."""

    status = 422
    title = "Invalid request"
    code = "invalid_request"
    detail = "Some fields are not valid."

    def __init__(self, errors: Mapping[str, Any]) -> None:
        super().__init__(errors=dict(errors))


class KeyReused(TicketingError):
    """An Idempotency-Key came again with another request."""

    status = 422
    title = "Idempotency-Key reused"
    code = "idempotency_key_reused"
    detail = "This Idempotency-Key was sent before with another body."


class Unavailable(TicketingError):
    """Something that this service stands on does not answer; try again."""

    status = 503
    retry_after = 5
    title = "Service unavailable"


class ChainUnavailable(Unavailable):
    """The chain's node does not answer, or answers nonsense."""

    code = "chain_unavailable"
    detail = "The chain cannot be looked at right now."


class DatabaseUnavailable(Unavailable):
    """The database does not answer."""

    code = "database_unavailable"
    detail = "The database cannot be reached right now."
