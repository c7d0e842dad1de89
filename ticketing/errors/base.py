"""The errors of all statuses but 409, their base class, and the JSON body of an error response."""

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
    """A rejected request. `code` is stable, `detail` is a sentence for people."""

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


class BadRequest(TicketingError):
    """The request cannot be parsed."""

    status = 400
    title = "Bad request"
    code = "malformed_json"
    detail = "The body is not valid JSON."


class Unauthenticated(TicketingError):
    """The request has no valid credential. `challenge` says how to send one (RFC 9110, 11.6.1)."""

    challenge = 'Bearer realm="ticketing"'

    status = 401
    title = "Not authenticated"
    code = "unauthenticated"
    detail = "Send a valid JWT as 'Authorization: Bearer <JWT>', or a valid API key as 'X-API-Key'."


class InvalidCredentials(Unauthenticated):
    """The API key or password is not valid. The message does not say why."""

    code = "invalid_credentials"
    detail = "These credentials are not valid."


class WrongCode(Unauthenticated):
    """The code of a second factor is wrong, or was used before."""

    code = "wrong_code"
    detail = "This code is wrong, or was used before."


class WrongPasskey(Unauthenticated):
    """What a browser sent of a passkey is not valid, or was used before."""

    code = "wrong_passkey"
    detail = "This passkey was not accepted."


class SecondFactorRequired(Unauthenticated):
    """The password is right, and the member has a second factor, of which nothing was sent."""

    code = "second_factor_required"
    detail = "Send a code of your second factor as `code`, too."


class KeyRequired(Unauthenticated):
    """The ticket type is sold only to callers with a credential."""

    code = "key_required"
    detail = "This ticket type requires a credential with the role 'paywall' or higher."


class PaymentRequired(TicketingError):
    """The payment address has not received the full amount."""

    status = 402
    title = "Payment required"
    code = "payment_required"
    detail = "The payment address has not received the full amount yet."


class Forbidden(TicketingError):
    """The credential is valid, but does not allow this request."""

    status = 403
    title = "Forbidden"


class InsufficientRole(Forbidden):
    """The credential's role is too low."""

    code = "insufficient_role"
    detail = "The role of this credential does not allow this."


class LimitedToEvents(Forbidden):
    """The member is limited to events, and this is of none of them, or of all."""

    code = "limited_to_events"
    detail = "You may work on some events only, and this does not belong to one of them."


class NetworkBlocked(Forbidden):
    """The operator blocks the caller's network for a while."""

    code = "network_blocked"
    detail = "Requests from this network are blocked at the moment."


class SecondFactorMissing(Forbidden):
    """The tenant requires a second factor of administrators, and this one has none yet."""

    code = "second_factor_missing"
    detail = "Your organizer requires a second factor. Set one up in the console first."


class WrongTenant(Forbidden):
    """The credential belongs to another tenant than the one in the path."""

    code = "wrong_tenant"
    detail = "This credential does not belong to the tenant in the path."


class NotFound(TicketingError):
    """The resource does not exist, or the caller may not know that it exists."""

    status = 404
    title = "Not found"
    code = "not_found"
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
    """The intent was not paid in time."""

    code = "intent_expired"
    detail = "This intent was not paid in time."


class OfferEnded(Gone):
    """The offer to transfer an admission was used, replaced or taken back, or it is too old."""

    code = "offer_ended"
    detail = "This offer has ended. Ask the sender for a new one."


class PayeeChangeEnded(Gone):
    """The change of a refund address was stopped, or another one came after it."""

    code = "payee_change_ended"
    detail = "This change has ended. State the address again."


class InvitationEnded(Gone):
    """The invitation was used, replaced or taken back, or it is too old."""

    code = "invitation_ended"
    detail = "This invitation has ended. Ask an administrator for a new one."


class PasswordResetEnded(Gone):
    """The link for a new password was used, or is too old, or its member was disabled."""

    code = "password_reset_ended"
    detail = "This link has ended. Ask for a new one."


class SignInEnded(Gone):
    """The password was proved too long ago, or it was replaced since then."""

    code = "sign_in_ended"
    detail = "This took too long. Sign in again."


class FeedPositionGone(Gone):
    """The position in the feed of notifications is too old, or was never given."""

    code = "feed_position_gone"
    detail = "The feed no longer has this position. Read without 'after', from the oldest kept."


class PayloadTooLarge(TicketingError):
    """The body is larger than MAX_BODY_BYTES."""

    status = 413
    title = "Payload too large"
    code = "body_too_large"
    detail = "The request body exceeds 64 KiB."


class UnsupportedMediaType(TicketingError):
    """The body is not declared as JSON."""

    status = 415
    title = "Unsupported media type"
    code = "unsupported_media_type"
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
    code = "image_invalid"
    detail = "The body is not a complete JPEG, PNG or WebP image."


class KeyReused(TicketingError):
    """The Idempotency-Key was already used for a different request."""

    status = 422
    title = "Idempotency-Key reused"
    code = "idempotency_key_reused"
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

    code = "too_many_requests"
    detail = "Too many requests. Retry after the seconds in Retry-After."


class TooMuchUnpaid(TooMany):
    """The caller's address holds too many unpaid seats."""

    code = "too_much_unpaid"
    detail = "This address holds too many unpaid seats. Pay for some orders or cancel them."


class TooManyHolds(TooMany):
    """Too many orders of the caller's address were held longer today, and not paid."""

    code = "too_many_holds"
    detail = "Orders of this address were held longer today, and not paid."


class ReturnedUnpaid(TooMany):
    """An order of the caller's address for seats that were given back ended unpaid just now."""

    code = "returned_unpaid"
    detail = (
        "An order of this address for seats that were given back ended unpaid. Wait before the"
        " next one."
    )


class TooManyOrders(TooMany):
    """The caller's address has made too many orders today."""

    code = "too_many_orders"
    detail = "This address has made too many orders today."


class TooMuchText(TooMany):
    """The caller's address has stored too much text in unpaid orders today."""

    code = "too_much_text"
    detail = "This address has sent too many answers in orders that are not paid today."


class TooManyFree(TooMany):
    """The caller's address has ordered too many free seats of this event."""

    code = "too_many_free"
    detail = "This address has ordered too many free seats of this event today."


class TooManyAddresses(TooMany):
    """A client, or all clients of an organizer, got too many addresses by x402 today."""

    code = "too_many_addresses"
    detail = "Too many prices were asked for by x402 today, and not paid. Order by preflight."


class TooManyGuesses(TooMany):
    """The client has sent too many wrong codes in the last minute."""

    code = "too_many_guesses"
    detail = "Too many wrong codes were sent from here. Retry after the seconds in Retry-After."


class TooManyTransfers(TooMany):
    """The admission was offered too often today."""

    code = "too_many_transfers"
    detail = "This admission was offered too often. Retry after the seconds in Retry-After."


class TooManyLinks(TooMany):
    """The client has asked too often today for the links of lost orders."""

    code = "too_many_links"
    detail = "This address has asked for links too often today."


class TooManyMails(TooMany):
    """An organizer has sent as many mails today as it may, of those that anybody may ask for."""

    code = "too_many_mails"
    detail = "This organizer has sent as many mails today as it may."


class TooManyChanges(TooMany):
    """An address of an intent was stated too often today: of its refunds, or of its mails."""

    code = "too_many_changes"
    detail = "The address was changed too often. Retry after the seconds in Retry-After."


class TooManyDeliveries(TooMany):
    """Too many deliveries that were asked for are not sent yet."""

    code = "too_many_deliveries"
    detail = "Too many deliveries of this endpoint wait to be sent. Retry later."


class Unavailable(TicketingError):
    """A system that this service needs does not respond. The caller may retry."""

    status = 503
    retry_after = 5
    title = "Service unavailable"


class TextsUnavailable(Unavailable):
    """Orders have stored as much text as the service takes in a day."""

    code = "texts_unavailable"
    detail = "The service takes no more answers today. The operator has been told."
    retry_after = 3600


class ChainUnavailable(Unavailable):
    """The blockchain node does not respond, or its response is invalid."""

    code = "chain_unavailable"
    detail = "The blockchain node is unavailable."


class NodesBusy(ChainUnavailable):
    """The maximum number of requests is waiting for nodes."""

    retry_after = 1
    detail = "Too many requests are waiting for the blockchain node. Retry."


class LookedJustNow(NodesBusy):
    """The order was found unpaid a moment ago: the chain is not read again so soon."""

    retry_after = 2
    detail = "The blockchain was read for this order a moment ago: it was not paid. Retry."


class ImagesBusy(Unavailable):
    """Other pictures are being read."""

    code = "images_busy"
    detail = "Other pictures are being read. Retry in a few seconds."


class CapacityChanged(Unavailable):
    """The event got a capacity while the order was being made."""

    retry_after = 1
    code = "capacity_changed"
    detail = "The capacity of this event has just changed. Retry."


class DatabaseUnavailable(Unavailable):
    """The database does not respond."""

    code = "database_unavailable"
    detail = "The database is unavailable."
