"""What collides with how things are: the 409s. Each has a code of its own."""

from ticketing.errors import Conflict


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


class KeyNotActive(Conflict):
    """The API key has ended: nothing about it changes any more."""

    code = "key_not_active"
    detail = "This API key has expired or was revoked."


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


class WalletInUse(Conflict):
    """The account is used for something else: its other income would pay for orders."""

    code = "wallet_in_use"
    detail = "This account is already in use. Orders need an account of their own."


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
    detail = (
        "This transaction has not sent what is due to whoever paid, is not final yet, or was"
        " counted for another refund."
    )
