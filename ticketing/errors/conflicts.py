"""The errors with status 409: the request conflicts with the current state. One class a code."""

from collections.abc import Sequence
from datetime import datetime

from ticketing.errors.base import Conflict
from ticketing.notification_types import MAX_WEBHOOKS


class SlugTaken(Conflict):
    """Another tenant, or another event of the tenant, has this slug."""

    code = "slug_taken"
    detail = "This slug is already in use. Choose another one."


class SlugFixed(Conflict):
    """The slug of a published event cannot change, because people have the link."""

    code = "slug_fixed"
    detail = "The slug can only be changed while the event is a draft."


class InvalidTransition(Conflict):
    """The current status does not allow a change to the requested one."""

    code = "invalid_transition"
    detail = "The current status does not allow this change."


class StillRunning(Conflict):
    """A request with the same Idempotency-Key is still running."""

    code = "idempotency_still_running"
    detail = "The first request with this Idempotency-Key is still running."
    retry_after = 1


class HasIntents(Conflict):
    """It has payment intents, so it cannot go back to draft."""

    code = "has_intents"
    detail = "It has payment intents, so it can only be canceled."


class InThePast(Conflict):
    """The change would move an event that has orders or guests into the past."""

    code = "in_the_past"
    detail = (
        "This event has orders or guests, and would be over. Names and email addresses of an event"
        " that is over are erased. Send force: true if the times are right."
    )


class CapacityTooLow(Conflict):
    """More tickets are held and sold than the new capacity allows."""

    code = "capacity_too_low"
    detail = "More tickets are already held or sold than this capacity allows."


class KeyNotActive(Conflict):
    """The API key has expired or was revoked, so it cannot be changed."""

    code = "key_not_active"
    detail = "This API key has expired or was revoked."


class MemberExists(Conflict):
    """The tenant already has a member with this email address."""

    code = "member_exists"
    detail = "There is already a member with this email address."


class SecondFactorNeeded(Conflict):
    """The tenant requires a second factor of administrators, and this is the last one of one."""

    code = "second_factor_needed"
    detail = "Your organizer requires a second factor. Set another one up first."


class LastAdmin(Conflict):
    """The member is the only active administrator of the tenant."""

    code = "last_admin"
    detail = "This is the last active administrator. Make another member an administrator first."


class TooManyWebhooks(Conflict):
    """The tenant has as many webhook endpoints as it may have."""

    code = "too_many_webhooks"
    detail = f"A tenant may have {MAX_WEBHOOKS} webhook endpoints. Delete one first."


class SoldOut(Conflict):
    """Fewer tickets are left than the order asks for."""

    code = "sold_out"
    detail = "There are not enough tickets left for this order."


class OneTypeOnly(Conflict):
    """The order has several ticket types, and its event sells one in an order."""

    code = "one_type_only"
    detail = "This event sells one ticket type in an order. Order the others separately."


class NeedsTicket(Conflict):
    """The order has something that is only sold together with a ticket."""

    code = "needs_ticket"
    detail = "This is only sold together with a ticket. Add one to the order."


class NoCommonNetwork(Conflict):
    """No network can pay all that the order has."""

    code = "no_common_network"
    detail = "These tickets are not sold on one network. Order them separately."


class NetworkUnavailable(Conflict):
    """The buyer chose a network that cannot be used now. Others can."""

    code = "network_unavailable"
    detail = "This network cannot be used at the moment. Choose another one."
    asked_back = "The buyer asked back what arrived on this network, for good. Choose another one."
    """The detail if no time changes it."""


class AlreadyPaying(Conflict):
    """The order has a payment on its network, or a signed transfer there is being settled."""

    code = "already_paying"
    detail = "This order is paid on its network, or is being paid there. It cannot move now."
    missing = "A reorganization removed the payment of this order. It may return: it cannot move."
    """The detail if the payment is not on the chain any more."""


class SalesNotStarted(Conflict):
    """The sales window has not started."""

    code = "sales_not_started"
    detail = "Sales have not started yet."


class SalesEnded(Conflict):
    """The sales window has ended."""

    code = "sales_ended"
    detail = "Sales have ended."


class EventOver(Conflict):
    """The event is over."""

    code = "event_over"
    detail = "The event is over."


class BelowMinimum(Conflict):
    """The quantity is below `min_per_order`."""

    code = "below_minimum"
    detail = "The quantity is below the minimum for one order."


class AboveMaximum(Conflict):
    """The quantity is above `max_per_order`."""

    code = "above_maximum"
    detail = "The quantity is above the maximum for one order."


class OverMaxAmount(Conflict):
    """The order costs more than the buyer's `max_amount`."""

    code = "over_max_amount"
    detail = "The order costs more than max_amount."


class NotPayable(Conflict):
    """The tenant has no wallet, or the chain is not enabled."""

    code = "not_payable"
    detail = "This ticket type cannot be paid for at the moment."


class OwnerNotConfirmed(Conflict):
    """Wallets do not name this network: their addresses may be somebody else's there."""

    code = "owner_not_confirmed"
    detail = "Confirm that the wallet's address is yours on this network."
    owners: Sequence[str] = ()
    """All addresses that are to be confirmed."""


class IntentCanceled(Conflict):
    """The intent was canceled."""

    code = "intent_canceled"
    detail = "This intent was canceled."


class IntentReversed(Conflict):
    """A reorganization removed the payment. If it returns, the intent is confirmed again."""

    code = "intent_reversed"
    detail = "A reorganization of the chain removed the payment of this intent."


class IntentNotCancelable(Conflict):
    """The intent has received money or soon will, or has ended."""

    code = "intent_not_cancelable"
    detail = "Only an intent that has received nothing can be canceled."
    settling = "A signed transfer of this intent may be on its way. It cannot be canceled now."
    """The detail if no money was seen yet."""


class NotTransferable(Conflict):
    """The ticket type does not allow another holder."""

    code = "not_transferable"
    detail = "This admission is not transferable."


class AlreadyRedeemed(Conflict):
    """The holder has entered."""

    code = "already_redeemed"
    detail = "This admission was already used to enter."


class AdmissionVoid(Conflict):
    """The organizer has taken the admission back."""

    code = "admission_void"
    detail = "This admission is void."


class AdmissionSuspended(Conflict):
    """A reorganization removed the payment. If it returns, the admission is valid again."""

    code = "admission_suspended"
    detail = "This admission is suspended, because its payment is missing on the chain."


class TransfersClosed(Conflict):
    """The event's time for transfers has ended."""

    code = "transfers_closed"
    detail = "Transfers for this event have ended."


class PaymentNotFinal(Conflict):
    """The order was confirmed early, and its payment is not final yet."""

    code = "payment_not_final"
    detail = "The payment is not final yet. Retry after the seconds in Retry-After."

    def __init__(self, detail: str | None = None, *, retry_after: int | None = None) -> None:
        super().__init__(detail)
        self.retry_after = retry_after


class NoRefundDue(Conflict):
    """Nothing is due back to the buyer."""

    code = "no_refund_due"
    detail = "This intent has no refund due."


class HoldExtended(Conflict):
    """The intent is held longer already."""

    code = "hold_extended"
    detail = "This intent is held longer already. That is possible once."


class HoldNotExtendable(Conflict):
    """The intent does not wait for a payment, is held long enough, or few tickets are left."""

    code = "hold_not_extendable"
    detail = "This intent cannot be held longer: it awaits no payment, or few tickets are left."


class NothingReceived(Conflict):
    """The intent never received anything, so nothing can be sent back."""

    code = "nothing_received"
    detail = "Nothing was received for this intent, so there is nothing to send back."


class RefundNotSeen(Conflict):
    """The transaction pays nothing of the refund, or is not final yet."""

    code = "refund_not_seen"
    detail = (
        "This transaction sends nothing of what is due to an address that may receive it, is older"
        " than the payments, is not final yet, or is already counted for other refunds."
    )


class RefundListed(Conflict):
    """The refund is on a list that can still be paid, or that was paid and is not booked yet."""

    code = "refund_listed"
    detail = (
        "This refund is on a list that can still be paid, or that was paid and is not booked yet."
        " Wait until the list has ended."
    )


class AmountChanged(Conflict):
    """The amount that is due now is not the one that the caller waives."""

    code = "amount_changed"
    detail = "The amount is not what is due now. Read the refund again."


class WasTransferred(Conflict):
    """The admission has another holder than the buyer, and the refund would go to the buyer."""

    code = "was_transferred"
    detail = (
        "This admission was transferred. A refund goes to the buyer of the order, not to the"
        " holder. Send transferred: true to void it."
    )


class NotRedeemed(Conflict):
    """Nobody is inside with the admission."""

    code = "not_redeemed"
    detail = "Nobody is inside with this admission."


class TooManyScans(Conflict):
    """A door device has stored more scans than its event can need."""

    code = "too_many_scans"
    detail = (
        "This device has sent more scans than this event can need."
        " Ask the organizer for a new pairing code."
    )


class DoorsUnsynced(Conflict):
    """A door device has scans that it has not sent yet, or may have: the holder may be inside."""

    code = "doors_unsynced"
    detail = (
        "A door device has scans that it has not sent yet, or was not seen for two minutes,"
        " so the holder may be inside. Send force: true to void the admission."
    )


class MailNotConfigured(Conflict):
    """The service cannot send mail."""

    code = "mail_not_configured"
    detail = "This service cannot send mail. Leave out the email address to get the code here."


class NoEmail(Conflict):
    """Nobody has said where mails about this ticket go."""

    code = "no_email"
    detail = "There is no email address to which it could be sent."


class TooManyMessages(Conflict):
    """The event, or the tenant, has sent enough messages today."""

    code = "too_many_messages"
    detail = "Too many messages were sent today, or to too many people. Try again tomorrow."


class QuestionAnswered(Conflict):
    """The change would spoil answers that were given."""

    code = "question_answered"
    detail = (
        "Somebody has answered this question. Its type, when it is asked, and options that were"
        " chosen cannot change. Archive it, and create another one."
    )


class TooManyQuestions(Conflict):
    """The event has the largest number of questions."""

    code = "too_many_questions"
    detail = "This is the largest number of questions of one event. Archive one first."


class AnswersClosed(Conflict):
    """The doors have opened."""

    code = "answers_closed"
    detail = "Answers can be changed until the doors open. Ask the organizer."


class BillingClosed(Conflict):
    """The event was over long ago."""

    code = "billing_closed"
    detail = "The billing can be written until 90 days after the event."


class EmailClosed(Conflict):
    """The event was over long ago."""

    code = "email_closed"
    detail = "The email address can be changed until 90 days after the event."


class EmailPutBack(Conflict):
    """A button in a mail put the address back. The order's link alone cannot change it any more."""

    code = "email_put_back"
    detail = "The owner of this email address put it back. Only the organizer can change it now."


class SaleCanceled(Conflict):
    """The event or the ticket type was canceled."""

    code = "sale_canceled"
    detail = "This event or ticket type was canceled."


class CodeTaken(Conflict):
    """Another voucher of the event has this code."""

    code = "code_taken"
    detail = "Another voucher of this event has this code. Choose another one."


class MaxUsagesTooLow(Conflict):
    """More usages of the voucher are held and redeemed than it would have."""

    code = "max_usages_too_low"
    detail = "More usages of this voucher are already held or redeemed."


class VoucherInvalid(Conflict):
    """No voucher can be used with this code. The answer does not say why."""

    code = "voucher_invalid"
    detail = "This code is not valid for this event."


class VoucherHeld(Conflict):
    """All usages of the voucher that are left are in orders that are not paid yet."""

    code = "voucher_held"
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

    code = "voucher_not_applicable"
    detail = "This voucher does not fit this order."


class VoucherRequired(Conflict):
    """The ticket type is only sold with a voucher that names it."""

    code = "voucher_required"
    detail = "This ticket type is only sold with a voucher for it."
