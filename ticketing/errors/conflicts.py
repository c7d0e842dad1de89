"""The errors with status 409: the request conflicts with the current state. One class a code."""

from collections.abc import Sequence
from datetime import datetime

from ticketing.errors.base import Conflict
from ticketing.notification_types import MAX_WEBHOOKS


class SlugTaken(Conflict):
    """Another tenant, or another event of the tenant, has this slug."""

    detail = "This slug is already in use. Choose another one."


class SlugFixed(Conflict):
    """The slug of a published event cannot change, because people have the link."""

    detail = "The slug can only be changed while the event is a draft."


class InvalidTransition(Conflict):
    detail = "The current status does not allow this change."


class IdempotencyStillRunning(Conflict):
    detail = "The first request with this Idempotency-Key is still running."
    retry_after = 1


class HasIntents(Conflict):
    detail = "It has payment intents, so it can only be canceled."


class InThePast(Conflict):
    detail = (
        "This event has orders or guests, and would be over. Names and email addresses of an event"
        " that is over are erased. Send force: true if the times are right."
    )


class CapacityTooLow(Conflict):
    detail = "More tickets are already held or sold than this capacity allows."


class KeyNotActive(Conflict):
    detail = "This API key has expired or was revoked."


class MemberExists(Conflict):
    detail = "There is already a member with this email address."


class SecondFactorNeeded(Conflict):
    """The tenant requires a second factor of administrators, and this is the last one of one."""

    detail = "Your organizer requires a second factor. Set another one up first."


class LastAdmin(Conflict):
    detail = "This is the last active administrator. Make another member an administrator first."


class TooManyWebhooks(Conflict):
    detail = f"A tenant may have {MAX_WEBHOOKS} webhook endpoints. Delete one first."


class SoldOut(Conflict):
    detail = "There are not enough tickets left for this order."


class OneTypeOnly(Conflict):
    detail = "This event sells one ticket type in an order. Order the others separately."


class NeedsTicket(Conflict):
    detail = "This is only sold together with a ticket. Add one to the order."


class NoCommonNetwork(Conflict):
    detail = "These tickets are not sold on one network. Order them separately."


class NetworkUnavailable(Conflict):
    detail = "This network cannot be used at the moment. Choose another one."
    asked_back = "The buyer asked back what arrived on this network, for good. Choose another one."
    """The detail if no time changes it."""


class AlreadyPaying(Conflict):
    detail = "This order is paid on its network, or is being paid there. It cannot move now."
    missing = "A reorganization removed the payment of this order. It may return: it cannot move."
    """The detail if the payment is not on the chain any more."""


class SalesNotStarted(Conflict):
    detail = "Sales have not started yet."


class SalesEnded(Conflict):
    detail = "Sales have ended."


class EventOver(Conflict):
    detail = "The event is over."


class BelowMinimum(Conflict):
    detail = "The quantity is below the minimum for one order."


class AboveMaximum(Conflict):
    detail = "The quantity is above the maximum for one order."


class OverMaxAmount(Conflict):
    detail = "The order costs more than max_amount."


class NotPayable(Conflict):
    detail = "This ticket type cannot be paid for at the moment."


class OwnerNotConfirmed(Conflict):
    """Wallets do not name this network: their addresses may be somebody else's there."""

    detail = "Confirm that the wallet's address is yours on this network."
    owners: Sequence[str] = ()
    """All addresses that are to be confirmed."""


class IntentCanceled(Conflict):
    detail = "This intent was canceled."


class IntentReversed(Conflict):
    """A reorganization removed the payment. If it returns, the intent is confirmed again."""

    detail = "A reorganization of the chain removed the payment of this intent."


class IntentNotCancelable(Conflict):
    """The intent has received money or soon will, or has ended."""

    detail = "Only an intent that has received nothing can be canceled."
    settling = "A signed transfer of this intent may be on its way. It cannot be canceled now."
    """The detail if no money was seen yet."""


class NotTransferable(Conflict):
    detail = "This admission is not transferable."


class AlreadyRedeemed(Conflict):
    detail = "This admission was already used to enter."


class AdmissionVoid(Conflict):
    """The organizer has taken the admission back."""

    detail = "This admission is void."


class AdmissionSuspended(Conflict):
    """A reorganization removed the payment. If it returns, the admission is valid again."""

    detail = "This admission is suspended, because its payment is missing on the chain."


class TransfersClosed(Conflict):
    detail = "Transfers for this event have ended."


class PaymentNotFinal(Conflict):
    """The order was confirmed early, and its payment is not final yet."""

    detail = "The payment is not final yet. Retry after the seconds in Retry-After."

    def __init__(self, detail: str | None = None, *, retry_after: int | None = None) -> None:
        super().__init__(detail)
        self.retry_after = retry_after


class NoRefundDue(Conflict):
    detail = "This intent has no refund due."


class HoldExtended(Conflict):
    detail = "This intent is held longer already. That is possible once."


class HoldNotExtendable(Conflict):
    """The intent does not wait for a payment, is held long enough, or few tickets are left."""

    detail = "This intent cannot be held longer: it awaits no payment, or few tickets are left."


class NothingReceived(Conflict):
    detail = "Nothing was received for this intent, so there is nothing to send back."


class RefundNotSeen(Conflict):
    detail = (
        "This transaction sends nothing of what is due to an address that may receive it, is older"
        " than the payments, is not final yet, or is already counted for other refunds."
    )


class RefundListed(Conflict):
    detail = (
        "This refund is on a list that can still be paid, or that was paid and is not booked yet."
        " Wait until the list has ended."
    )


class AmountChanged(Conflict):
    """The amount that is due now is not the one that the caller waives."""

    detail = "The amount is not what is due now. Read the refund again."


class WasTransferred(Conflict):
    detail = (
        "This admission was transferred. A refund goes to the buyer of the order, not to the"
        " holder. Send transferred: true to void it."
    )


class NotRedeemed(Conflict):
    detail = "Nobody is inside with this admission."


class TooManyScans(Conflict):
    detail = (
        "This device has sent more scans than this event can need."
        " Ask the organizer for a new pairing code."
    )


class DoorsUnsynced(Conflict):
    detail = (
        "A door device has scans that it has not sent yet, or was not seen for two minutes,"
        " so the holder may be inside. Send force: true to void the admission."
    )


class MailNotConfigured(Conflict):
    detail = "This service cannot send mail. Leave out the email address to get the code here."


class NoEmail(Conflict):
    detail = "There is no email address to which it could be sent."


class TooManyMessages(Conflict):
    """The event, or the tenant, has sent enough messages today."""

    detail = "Too many messages were sent today, or to too many people. Try again tomorrow."


class QuestionAnswered(Conflict):
    detail = (
        "Somebody has answered this question. Its type, when it is asked, and options that were"
        " chosen cannot change. Archive it, and create another one."
    )


class TooManyQuestions(Conflict):
    detail = "This is the largest number of questions of one event. Archive one first."


class AnswersClosed(Conflict):
    detail = "Answers can be changed until the doors open. Ask the organizer."


class BillingClosed(Conflict):
    detail = "The billing can be written until 90 days after the event."


class EmailClosed(Conflict):
    detail = "The email address can be changed until 90 days after the event."


class EmailPutBack(Conflict):
    """A button in a mail put the address back. The order's link alone cannot change it any more."""

    detail = "The owner of this email address put it back. Only the organizer can change it now."


class SaleCanceled(Conflict):
    detail = "This event or ticket type was canceled."


class CodeTaken(Conflict):
    detail = "Another voucher of this event has this code. Choose another one."


class MaxUsagesTooLow(Conflict):
    detail = "More usages of this voucher are already held or redeemed."


class VoucherInvalid(Conflict):
    """No voucher can be used with this code. The answer does not say why."""

    detail = "This code is not valid for this event."


class VoucherHeld(Conflict):
    detail = "All usages of this voucher are in orders that are not paid yet. Try again later."

    def __init__(self, until: datetime, *, retry_after: int) -> None:
        """`until`: when the first of these orders ends, in `retry_after` seconds."""
        super().__init__()
        self.until = until
        self.retry_after = retry_after


class VoucherNotApplicable(Conflict):
    """The voucher can be used, but not for this order.

    The extension `reason` says why. `usages_left` is how many seats it is still good for.
    """

    detail = "This voucher does not fit this order."


class VoucherRequired(Conflict):
    detail = "This ticket type is only sold with a voucher for it."
