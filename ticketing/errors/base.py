"""The errors of all statuses but 409, their base class, and the JSON body of an error response."""

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Self

PROBLEM_CONTENT_TYPE = "application/problem+json"
INTERNAL_ERROR_DETAIL = "An internal error occurred. The service's log has the details."


def problem_body(
    *, status: int, title: str, code: str, detail: str, request_id: str
) -> dict[str, Any]:
    """Return the JSON members of every error response: RFC 9457, with `code` and `request_id`."""
    return {
        "type": f"urn:ticketing:problem:{code}",
        "title": title,
        "status": status,
        "detail": detail,
        "code": code,
        "request_id": request_id,
    }


class TicketingError(Exception):
    """A rejected request. `code` is stable, `detail` is a sentence for people.

    The code follows from the name of the class: SoldOut has `sold_out`.
    """

    status: ClassVar[int]
    title: ClassVar[str]
    code: str
    detail: str
    retry_after: int | None = None
    """After how many seconds the caller may retry."""

    def __init__(self, detail: str | None = None, **extensions: Any) -> None:
        self.detail = detail or self.detail
        self.extensions = extensions
        super().__init__(self.detail)

    def __init_subclass__(cls) -> None:
        if "code" not in vars(cls):
            cls.code = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()


class BadRequest(TicketingError):
    status = 400
    title = "Bad request"


class MalformedJson(BadRequest):
    detail = "The body is not valid JSON."


class Unauthenticated(TicketingError):
    """The request has no valid credential. `challenge` says how to send one (RFC 9110, 11.6.1)."""

    challenge = 'Bearer realm="ticketing"'

    status = 401
    title = "Not authenticated"
    detail = "Send a valid JWT as 'Authorization: Bearer <JWT>', or a valid API key as 'X-API-Key'."


class InvalidCredentials(Unauthenticated):
    """The API key or password is not valid. The message does not say why."""

    detail = "These credentials are not valid."


class WrongCode(Unauthenticated):
    detail = "This code is wrong, or was used before."


class WrongPasskey(Unauthenticated):
    detail = "This passkey was not accepted."


class SecondFactorRequired(Unauthenticated):
    """The password is right, and the member has a second factor, of which nothing was sent."""

    detail = "Send a code of your second factor as `code`, too."


class KeyRequired(Unauthenticated):
    detail = "This ticket type requires a credential with the role 'paywall' or higher."


class PaymentRequired(TicketingError):
    status = 402
    title = "Payment required"
    detail = "The payment address has not received the full amount yet."


class Forbidden(TicketingError):
    """The credential is valid, but does not allow this request."""

    status = 403
    title = "Forbidden"


class InsufficientRole(Forbidden):
    detail = "The role of this credential does not allow this."


class LimitedToEvents(Forbidden):
    detail = "You may work on some events only, and this does not belong to one of them."


class NetworkBlocked(Forbidden):
    detail = "Requests from this network are blocked at the moment."


class SecondFactorMissing(Forbidden):
    detail = "Your organizer requires a second factor. Set one up in the console first."


class WrongTenant(Forbidden):
    detail = "This credential does not belong to the tenant in the path."


class NotFound(TicketingError):
    """The resource does not exist, or the caller may not know that it exists."""

    status = 404
    title = "Not found"
    detail = "This resource does not exist."


class Conflict(TicketingError):
    """The request is valid, but conflicts with the current state."""

    status = 409
    title = "Conflict"


class Gone(TicketingError):
    """The resource has ended and will not come back."""

    status = 410
    title = "Gone"


class IntentExpired(Gone):
    detail = "This intent was not paid in time."


class OfferEnded(Gone):
    """The offer to transfer an admission was used, replaced or taken back, or it is too old."""

    detail = "This offer has ended. Ask the sender for a new one."


class PayeeChangeEnded(Gone):
    """The change of a refund address was stopped, or another one came after it."""

    detail = "This change has ended. State the address again."


class InvitationEnded(Gone):
    """The invitation was used, replaced or taken back, or it is too old."""

    detail = "This invitation has ended. Ask an administrator for a new one."


class PasswordResetEnded(Gone):
    """The link for a new password was used, or is too old, or its member was disabled."""

    detail = "This link has ended. Ask for a new one."


class SignInEnded(Gone):
    """The password was proved too long ago, or it was replaced since then."""

    detail = "This took too long. Sign in again."


class FeedPositionGone(Gone):
    """The position in the feed of notifications is too old, or was never given."""

    detail = "The feed no longer has this position. Read without 'after', from the oldest kept."


class BodyTooLarge(TicketingError):
    status = 413
    title = "Payload too large"
    detail = "The request body exceeds 64 KiB."


class UnsupportedMediaType(TicketingError):
    status = 415
    title = "Unsupported media type"
    detail = "Send the body as application/json."


class FieldMessage(str):
    """What is wrong with a field, for programmers. Pages look up their own sentence by `code`.

    `values` are those of the placeholders.
    """

    code: str
    values: Mapping[str, object]

    def __new__(cls, code: str, text: str, **values: object) -> Self:
        """Return the text, with its code."""
        message = super().__new__(cls, text)
        message.code, message.values = code, values
        return message

    def format(self, *args: object, **values: object) -> Self:
        """Fill in the placeholders, as marshmallow does."""
        return type(self)(self.code, super().format(*args, **values), **values)


class Invalid(TicketingError):
    """The request can be parsed, but a field is invalid. `errors` names every invalid field."""

    status = 422
    title = "Invalid request"
    code = "invalid_request"
    detail = "Some fields are not valid."

    def __init__(self, errors: Mapping[str, Any]) -> None:
        super().__init__(errors=dict(errors))


class ImageInvalid(TicketingError):
    """An upload is not an image that can be used. `detail` says why."""

    status = 422
    title = "Invalid image"
    detail = "The body is not a complete JPEG, PNG or WebP image."


class IdempotencyKeyReused(TicketingError):
    status = 422
    title = "Idempotency-Key reused"
    detail = "This Idempotency-Key was already used with another body."


class TooMany(TicketingError):
    """The caller has reached a limit."""

    status = 429
    title = "Too many requests"

    def __init__(self, *, retry_after: int) -> None:
        super().__init__()
        self.retry_after = retry_after


class TooManyRequests(TooMany):
    """The caller has reached the limit of requests per minute, or of stored responses per day."""

    detail = "Too many requests. Retry after the seconds in Retry-After."


class TooMuchUnpaid(TooMany):
    detail = "This address holds too many unpaid seats. Pay for some orders or cancel them."


class TooManyHolds(TooMany):
    detail = "Orders of this address were held longer today, and not paid."


class ReturnedUnpaid(TooMany):
    detail = (
        "An order of this address for seats that were given back ended unpaid. Wait before the"
        " next one."
    )


class TooManyOrders(TooMany):
    detail = "This address has made too many orders today."


class TooMuchText(TooMany):
    detail = "This address has sent too many answers in orders that are not paid today."


class TooManyFree(TooMany):
    detail = "This address has ordered too many free seats of this event today."


class TooManyAddresses(TooMany):
    """A client, or all clients of an organizer, got too many addresses by x402 today."""

    detail = "Too many prices were asked for by x402 today, and not paid. Order by preflight."


class TooManyGuesses(TooMany):
    detail = "Too many wrong codes were sent from here. Retry after the seconds in Retry-After."


class TooManyTransfers(TooMany):
    detail = "This admission was offered too often. Retry after the seconds in Retry-After."


class TooManyLinks(TooMany):
    """The client has asked too often today for the links of lost orders."""

    detail = "This address has asked for links too often today."


class TooManyMails(TooMany):
    """An organizer has sent as many mails today as it may, of those that anybody may ask for."""

    detail = "This organizer has sent as many mails today as it may."


class TooManyChanges(TooMany):
    """An address of an intent was stated too often today: of its refunds, or of its mails."""

    detail = "The address was changed too often. Retry after the seconds in Retry-After."


class TooManyDeliveries(TooMany):
    detail = "Too many deliveries of this endpoint wait to be sent. Retry later."


class Unavailable(TicketingError):
    """A system that this service needs does not respond. The caller may retry."""

    status = 503
    retry_after = 5
    title = "Service unavailable"


class TextsUnavailable(Unavailable):
    detail = "The service takes no more answers today. The operator has been told."
    retry_after = 3600


class ChainUnavailable(Unavailable):
    """The blockchain node does not respond, or its response is invalid."""

    detail = "The blockchain node is unavailable."


class NodesBusy(ChainUnavailable):
    code = ChainUnavailable.code
    retry_after = 1
    detail = "Too many requests are waiting for the blockchain node. Retry."


class LookedJustNow(NodesBusy):
    code = ChainUnavailable.code
    retry_after = 2
    detail = "The blockchain was read for this order a moment ago: it was not paid. Retry."


class ImagesBusy(Unavailable):
    detail = "Other pictures are being read. Retry in a few seconds."


class CapacityChanged(Unavailable):
    retry_after = 1
    detail = "The capacity of this event has just changed. Retry."


class DatabaseUnavailable(Unavailable):
    detail = "The database is unavailable."
