"""What can go wrong in the domain. No HTTP library is known here: `status` is only a number.

TicketingError                        what every caller may catch
├── BadRequest               400      malformed_json
├── Unauthenticated          401      unauthenticated, invalid_credentials, key_required
├── PaymentRequired          402      payment_required
├── Forbidden                403      insufficient_role, wrong_tenant
├── NotFound                 404      not_found
├── Conflict                 409      slug_taken, sold_out, ...: see conflicts.py
├── Gone                     410      intent_expired
├── PayloadTooLarge          413      body_too_large
├── UnsupportedMediaType     415      unsupported_media_type
├── Invalid                  422      invalid_request, with the fields at fault
├── KeyReused                422      idempotency_key_reused
├── TooMany                  429      too_many_requests, too_much_unpaid, too_many_orders,
│                                     too_many_free
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
    retry_after: int | None = None
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


class KeyRequired(Unauthenticated):
    """The ticket type is sold through the organizer's own storefront only."""

    code = "key_required"
    detail = "This ticket type needs a credential of role 'paywall' or higher."


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


class TooMany(TicketingError):
    """The caller has had what one caller may have for now."""

    status = 429
    title = "Too many requests"

    def __init__(self, *, retry_after: int) -> None:
        super().__init__()
        self.retry_after = retry_after


class TooManyRequests(TooMany):
    """The caller's requests of this minute are used up."""

    code = "too_many_requests"
    detail = "Too many requests: wait as long as Retry-After says."


class TooMuchUnpaid(TooMany):
    """The caller's address holds as many unpaid seats as one address may."""

    code = "too_much_unpaid"
    detail = "Too many seats are held for this address: pay for some, or cancel them."


class TooManyOrders(TooMany):
    """The caller's address was issued as many orders today as one client may."""

    code = "too_many_orders"
    detail = "Too many orders were made from this address today."


class TooManyFree(TooMany):
    """The caller's address has as many free seats of this event as one client may."""

    code = "too_many_free"
    detail = "Too many free seats of this event were ordered from this address today."


class Unavailable(TicketingError):
    """Something that this service stands on does not answer; try again."""

    status = 503
    retry_after = 5
    title = "Service unavailable"


class ChainUnavailable(Unavailable):
    """The chain's node does not answer, or answers nonsense."""

    code = "chain_unavailable"
    detail = "The chain cannot be looked at right now."


class NodesBusy(ChainUnavailable):
    """As many requests wait for nodes already as may do so at a time."""

    retry_after = 1
    detail = "Too many requests wait for the chain's node. Retry."


class DatabaseUnavailable(Unavailable):
    """The database does not answer."""

    code = "database_unavailable"
    detail = "The database cannot be reached right now."
