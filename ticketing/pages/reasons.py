"""What errors mean for people. The sentences of the API are for programmers."""

from ticketing.errors import TicketingError

_WRONG_ADDRESS = "This is not a complete address. Copy it from your wallet again: 0x and 40 signs."

_REASONS = {
    "sold_out": "Somebody was faster: so many tickets are not left.",
    "sales_not_started": "The sale of this ticket has not started.",
    "sales_ended": "The sale of this ticket has ended.",
    "below_minimum": "This ticket is sold in larger numbers. Order more of it.",
    "above_maximum": "This is more than one order can have. Order fewer tickets.",
    "not_payable": "This ticket cannot be paid at the moment. Please ask the organizer.",
    "key_required": "This ticket is not sold on this page.",
    "too_much_unpaid": "Your network holds many unpaid tickets. Pay for some, or wait.",
    "too_many_orders": "Your network has made too many orders today. Try again tomorrow.",
    "too_many_free": "Your network has ordered too many free tickets of this event today.",
    "too_many_requests": "Too many people of your network are here. Wait a minute, then try again.",
    "too_many_transfers": "This ticket was offered too often today. Try again tomorrow.",
    "invalid_request": "Please correct what is marked below.",
    "not_transferable": "This ticket cannot be given to somebody else.",
    "transfers_closed": "Tickets of this event can no longer be given to somebody else.",
    "already_redeemed": "This ticket has been used at the door.",
    "admission_void": "This ticket is no longer valid.",
    "admission_suspended": "This ticket is suspended, because its payment is missing.",
    "offer_ended": "This offer has ended. Ask its sender for a new one.",
    "chain_unavailable": "We cannot see the network at the moment. Nothing is lost. Try again.",
    "invitation_ended": "This invitation has ended. Ask an administrator for a new one.",
    "member_exists": "Somebody with this email address is in the list already.",
    "last_admin": "This is the last administrator who can sign in. First make another member one.",
    "invalid_credentials": "Nobody signs in with this email address and password.",
    "was_transferred": "This ticket was passed on. Confirm below that its new holder loses it.",
    "doors_unsynced": "The holder may be inside: a device at the door has scans to send.",
    "mail_not_configured": "This service cannot send mail. Leave out the address.",
    "sale_canceled": "This event or ticket type was canceled.",
    "refund_not_seen": (
        "This transaction does not count. It pays nothing of what is due to an address that may"
        " receive it, or is older than the payments, or not final yet, or counts for other refunds."
    ),
    "no_refund_due": "Nothing is due for this order now.",
    "amount_changed": "The amount has changed since you opened this page. See what is due now.",
    "key_not_active": "This key has expired or was revoked. Create a new one.",
    "too_many_webhooks": "This is the largest number of webhooks. Delete one first.",
    "too_many_deliveries": "Many deliveries wait to be sent already. Try again in a minute.",
    "has_intents": "People have ordered already, so it cannot be a draft. It can be canceled.",
    "invalid_transition": "That is not possible any more. Look at the status again.",
    "slug_taken": "Another of your events has this name in its address. Choose another one.",
    "slug_fixed": "The address of a published event cannot change, because people have the link.",
    "capacity_too_low": "More tickets than that are sold or held. Choose a higher capacity.",
    "wallet_in_use": "This account has been used for something else. Create a new account for it.",
    "intent_not_cancelable": "Money has arrived for this order. It cannot be canceled.",
}

_AT_FIELDS = {
    "Must be an address with a valid EIP-55 checksum.": _WRONG_ADDRESS,
    "String does not match expected pattern.": _WRONG_ADDRESS,
    "Must not be the zero address.": "Nobody owns this address. Money sent there is lost.",
    "Must not be the address of the token.": "This is the address of the token, not of a wallet.",
    "Must not be the payment address of an order.": (
        "This is where an order is paid. Money sent there would not reach you."
    ),
    "Missing data for required field.": "Please fill this in.",
    "Not a valid integer.": "Please write a number.",
    "Not a valid RFC 3339 date-time.": "Please write a date and a time.",
    "Not an IANA time zone name.": "There is no time zone of this name. Choose one of the list.",
    "Must be after start_at.": "The event would end before it begins.",
    "Must not be after end_at.": "This is after the end of the event.",
    "Required if price_amount is not 0.": "Choose the network on which buyers pay the price.",
    "Must not be above max_per_order.": "This is more than one order can have.",
    "Must be after sales_start_at.": "The sale would end before it starts.",
    "Not a valid URL.": "This is not the address of a website. It starts with https://",
    "Must have either since or ids.": "Please write a date and a time.",
    "Not a valid email address.": "This is not an email address.",
}


def reason(error: TicketingError) -> str:
    """Return a sentence for the person who got this error, to be translated."""
    return _REASONS.get(error.code, error.detail)


def at_field(message: str) -> str:
    """Return what is wrong with a field, for the person who filled it in, to be translated."""
    return _AT_FIELDS.get(message, message)
