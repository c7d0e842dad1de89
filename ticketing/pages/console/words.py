"""The console's words for what the API names. They are translated where they are shown."""

from enum import StrEnum
from typing import NamedTuple

from ticketing.constants import (
    AdmissionStatus,
    Ask,
    EventType,
    Flag,
    IntentStatus,
    PayeeCaution,
    PayeeSource,
    PriceMode,
    Publication,
    QuestionType,
    RefundStatus,
    ReturnPolicy,
    ReturnStatus,
    Visibility,
    VoucherStatus,
)
from ticketing.deposits import DepositsRelease
from ticketing.notification_types import (
    Audience,
    DeliveryStatus,
    MailKind,
    MailStatus,
    MessageStatus,
    NotificationType,
    SaleMails,
    WebhookStatus,
)
from ticketing.roles import KeyStatus, MemberStatus, Role
from ticketing.scanning import DeviceStatus, ScanOutcome
from ticketing.waiting_list import EntryStatus
from ticketing.waiting_room import WaitingRoomMode


class Word(NamedTuple):
    """A status in words, and how it looks: a class of `.badge`."""

    label: str
    tone: str = ""


ROLES = {
    Role.READ: "Reader",
    Role.PAYWALL: "Checkout software",
    Role.WRITE: "Editor",
    Role.ADMIN: "Administrator",
    Role.FINANCE: "Finance",
    Role.DOOR: "Door",
}

_BROWSERS = (("Edg", "Edge"), ("Firefox", "Firefox"), ("Chrome", "Chrome"), ("Safari", "Safari"))
_SYSTEMS = (
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("Mac OS", "Mac"),
    ("Linux", "Linux"),
)


def browser(user_agent: str | None) -> str:
    """Return the browser and the system in a User-Agent header, as people call them.

    Empty if neither is known: the header can say anything.
    """
    agent = user_agent or ""
    found = (
        next((name for word, name in words if word in agent), "") for words in (_BROWSERS, _SYSTEMS)
    )
    return ", ".join(filter(None, found))


PUBLICATIONS = {
    Publication.DRAFT: Word("Draft"),
    Publication.PUBLISHED: Word("Published", "good"),
    Publication.CANCELED: Word("Canceled", "quiet"),
}

EVENT_TYPES = {
    EventType.IN_PERSON: "At a place",
    EventType.ONLINE: "Online",
    EventType.HYBRID: "At a place and online",
}

VISIBILITIES = {
    Visibility.PUBLIC: "Everybody: it is on your page, and search engines find it",
    Visibility.UNLISTED: "Only people who have the link",
}

VOUCHERS = {
    VoucherStatus.ACTIVE: Word("Active", "good"),
    VoucherStatus.USED_UP: Word("Used up", "quiet"),
    VoucherStatus.EXPIRED: Word("Expired", "quiet"),
    VoucherStatus.DISABLED: Word("Disabled", "quiet"),
}

ENTRIES = {
    EntryStatus.WAITING: Word("Waiting", "wait"),
    EntryStatus.OFFERED: Word("Offered", "note"),
    EntryStatus.ORDERED: Word("Ordered", "good"),
    EntryStatus.UNCONFIRMED: Word("Not confirmed", "quiet"),
    EntryStatus.EXPIRED: Word("Expired", "quiet"),
    EntryStatus.CANCELED: Word("Canceled", "quiet"),
}

DEPOSIT_RELEASES = {
    DepositsRelease.AUTOMATIC: "Come back by themselves, a day after the event",
    DepositsRelease.MANUAL: "Come back when I say so",
}

ROOM_MODES = {
    WaitingRoomMode.AUTO: "When more people come than the service can serve",
    WaitingRoomMode.ON: "Also half an hour before the sale starts, and now if it has started",
    WaitingRoomMode.OFF: "Never",
}

PRICE_MODES = {
    PriceMode.NONE: "The price stays",
    PriceMode.PERCENT: "So many percent less",
    PriceMode.SUBTRACT: "So much less",
    PriceMode.SET: "This price",
}

QUESTION_TYPES = {
    QuestionType.TEXT: "A short text",
    QuestionType.LONG_TEXT: "A long text",
    QuestionType.BOOLEAN: "Yes or no",
    QuestionType.CHOICE: "One of some options",
    QuestionType.MULTIPLE_CHOICE: "Some of some options",
    QuestionType.NUMBER: "A number",
    QuestionType.DATE: "A date",
}

ASKS = {
    Ask.ORDER: "Once, before the order",
    Ask.ATTENDEE: "For each ticket, until the doors open",
}

ORDER_STATUSES = {
    IntentStatus.AWAITING_PAYMENT: Word("Waiting for payment"),
    IntentStatus.PROCESSING: Word("Payment seen"),
    IntentStatus.CONFIRMED: Word("Confirmed", "good"),
    IntentStatus.EXPIRED: Word("Expired", "quiet"),
    IntentStatus.CANCELED: Word("Canceled", "quiet"),
    IntentStatus.REVERSED: Word("Payment missing", "bad"),
}

FLAGS = {
    Flag.UNDERPAID: Word("Paid too little", "bad"),
    Flag.OVERPAID: Word("Paid too much", "bad"),
    Flag.PAID_LATE: Word("Paid late", "bad"),
    Flag.DUPLICATE: Word("Paid twice", "bad"),
    Flag.REORGED: Word("Payment was undone", "bad"),
}

TICKET_STATUSES = {
    AdmissionStatus.VALID: Word("Valid", "good"),
    AdmissionStatus.SUSPENDED: Word("Suspended", "bad"),
    AdmissionStatus.VOID: Word("Taken back", "quiet"),
}

USED = Word("Used", "good")
PASSED_ON = Word("Passed on")


class Used(StrEnum):
    """Whether a ticket was used at the door, as a filter."""

    YES = "yes"
    NO = "no"


USED_OR_NOT = {Used.YES: "Used", Used.NO: "Not used yet"}

RETURNS = {
    ReturnStatus.OFFERED: "Given back, not sold on yet",
    ReturnStatus.IN_PROGRESS: "Somebody pays for the place",
    ReturnStatus.RESOLD: "Sold on",
}
OFFERED = Word("Given back", "warn")
RESOLD = Word("Sold on", "quiet")

RETURN_POLICIES = {
    ReturnPolicy.NONE: "No",
    ReturnPolicy.WHEN_RESOLD: "Yes, and they get money when somebody else has bought the place",
}

BY_HAND = Word("Paid by hand")

REFUND_STATUSES = {
    RefundStatus.DUE: Word("Due", "bad"),
    RefundStatus.SETTLED: Word("Paid back", "good"),
    RefundStatus.WAIVED: Word("Not counted", "quiet"),
}

PAYEES = {
    None: "It goes to this address:",
    PayeeSource.SIGNER: "It goes back to the account that paid, which signed the payment:",
    PayeeSource.WALLET: "It goes back to the wallet that paid:",
    PayeeSource.STATED: "The buyer wants it at this address:",
    PayeeSource.ENTERED: "You entered this address for the buyer:",
}

PAYEE_CAUTIONS = {
    PayeeCaution.EMAIL_CHANGED_BY_STAFF: (
        "Somebody of your team set the email of this order, and the buyer has not confirmed this"
        " address since. Ask the buyer at the address that they gave when they paid."
    ),
    PayeeCaution.REPLACES_PROVEN: (
        "Another wallet has proven that it paid, and the buyer's mailbox did not confirm this"
        " address. Ask the buyer."
    ),
    PayeeCaution.NOBODY_TOLD: "Nobody got a mail about this address. Ask the buyer.",
    PayeeCaution.ENTERED: "Somebody of your team entered this address. Check with them.",
}

MAILS = {
    MailKind.ORDER_PLACED: "How to pay",
    MailKind.PART_ARRIVED: "A part of the payment has arrived",
    MailKind.ORDER_CONFIRMED: "Order confirmed",
    MailKind.TICKET: "Ticket",
    MailKind.TRANSFER_OFFERED: "Ticket offered to somebody else",
    MailKind.EMAIL_CHANGED: "Told the address before: email changed",
    MailKind.EMAIL_CHANGED_BY_ORGANIZER: "Told the address before: you changed the email",
    MailKind.ORDER_LINK_ENDED: "Told the address before: its link has ended",
    MailKind.REFUND_DUE: "Refund due",
    MailKind.REFUND_ADDRESS_CHANGED: "New address for the refund, with a button",
    MailKind.REFUND_ADDRESS_NEWS: "New address for the refund",
    MailKind.REFUND_ADDRESS_ENTERED: "You entered an address for the refund",
    MailKind.REFUNDS_CAUTIONED: "Refunds to look at",
    MailKind.REFUND_SETTLED: "Refund paid",
    MailKind.EVENT_CANCELED: "Event canceled",
    MailKind.EVENT_MOVED: "Event moved",
    MailKind.ANSWERS_MISSING: "Answers missing",
    MailKind.TICKET_AGAIN: "Ticket, once more",
    MailKind.REMINDER: "Reminder",
    MailKind.MESSAGE: "Message",
    MailKind.MESSAGE_PREVIEW: "Preview of a message",
    MailKind.MESSAGE_WRITTEN: "First message of a member",
    MailKind.SALE: "Sold",
    MailKind.SALES_OF_DAY: "Sold on a day",
    MailKind.LOST_LINKS: "Links of orders",
    MailKind.WAITING_LIST_JOINED: "Place on the waiting list",
    MailKind.WAITING_LIST_OFFER: "Tickets for who waited",
    MailKind.WAITING_LIST_REMINDER: "Tickets are still held",
    MailKind.WAITING_LIST_ENDED: "Waiting list ended",
    MailKind.WEBHOOK_FAILING: "Webhook fails",
    MailKind.MEMBER_INVITED: "Invitation",
    MailKind.PASSWORD_RESET: "Link for a new password",
    MailKind.PASSWORD_CHANGED: "Password changed",
    MailKind.WALLET_CHANGE_REQUESTED: "Change of the wallet asked for",
    MailKind.WALLET_CHANGED: "Wallet changed",
    MailKind.WALLET_CHANGE_CANCELED: "Change of the wallet canceled",
}

DAYS = {
    "7": "7 days",
    "30": "30 days",
    "90": "90 days",
    "all": "A year",
}

MEASURES = {"tickets": "Tickets", "money": "Money"}

AUDIENCES = {
    Audience.HOLDERS: "Everybody with a ticket",
    Audience.BUYERS: "Who ordered",
    Audience.NOT_REDEEMED: "Who has not come in yet",
    Audience.CANCELED: "Whose tickets ended with the event",
}

MESSAGES = {
    MessageStatus.SCHEDULED: Word("Later"),
    MessageStatus.SENDING: Word("Being sent"),
    MessageStatus.SENT: Word("Sent", "good"),
    MessageStatus.CANCELED: Word("Canceled", "quiet"),
}

SALE_MAILS = {
    SaleMails.NONE: "No mails",
    SaleMails.EACH: "A mail for each paid order",
    SaleMails.DAILY: "One mail a day",
}

MAIL_STATUSES = {
    MailStatus.WAITING: Word("Waiting"),
    MailStatus.SENT: Word("Sent", "good"),
    MailStatus.DROPPED: Word("Not sent", "bad"),
}

HAPPENED = {
    NotificationType.INTENT_CREATED: "Ordered",
    NotificationType.INTENT_PART_PAID: "A part was paid",
    NotificationType.INTENT_PROCESSING: "Payment seen",
    NotificationType.INTENT_CONFIRMED: "Order confirmed",
    NotificationType.INTENT_FINALIZED: "Payment final",
    NotificationType.INTENT_CHAIN_CHANGED: "Order moved to another network",
    NotificationType.STRAY_SEEN: "Other money seen: on another network, or in another token",
    NotificationType.INTENT_EXPIRED: "Order expired",
    NotificationType.INTENT_CANCELED: "Order canceled",
    NotificationType.INTENT_REVERSED: "Payment undone by the network",
    NotificationType.REFUND_DUE: "Refund due",
    NotificationType.REFUND_ADDRESS_CHANGED: "Address for the refund changed",
    NotificationType.REFUND_SETTLED: "Refund paid",
    NotificationType.REFUND_WAIVED: "Refund not counted any more",
    NotificationType.ADMISSION_ISSUED: "Ticket issued",
    NotificationType.ADMISSION_TRANSFER_OFFERED: "Ticket offered to somebody else",
    NotificationType.ADMISSION_TRANSFERRED: "Ticket passed on",
    NotificationType.ADMISSION_RETURN_OFFERED: "Ticket given back",
    NotificationType.ADMISSION_RETURN_CANCELED: "Ticket kept after all",
    NotificationType.ADMISSION_VOIDED: "Ticket taken back",
    NotificationType.ADMISSION_REISSUED: "New code for a ticket",
    NotificationType.ADMISSION_REDEEMED: "Ticket used at the door",
    NotificationType.ADMISSION_REDEEM_UNDONE: "Entry undone at the door",
}
"""What notifications of one order say."""

SENT_TYPES = {
    **HAPPENED,
    NotificationType.EVENT_PUBLISHED: "Event published",
    NotificationType.EVENT_CHANGED: "Event changed",
    NotificationType.EVENT_CANCELED: "Event canceled",
    NotificationType.TICKET_TYPE_SOLD_OUT: "Ticket type sold out",
    NotificationType.VOUCHER_USED_UP: "Voucher used up",
    NotificationType.TICKET_TYPE_AVAILABLE_AGAIN: "Ticket type available again",
    NotificationType.MESSAGE_SENT: "Message sent",
    NotificationType.WEBHOOK_FAILING: "Webhook fails",
    NotificationType.WEBHOOK_TEST: "Test",
    NotificationType.DOOR_DEVICE_PAIRED: "Door device paired",
    NotificationType.API_KEY_CREATED: "New API key",
    NotificationType.MEMBER_INVITED: "Member invited",
    NotificationType.WALLET_CHANGE_REQUESTED: "Change of the wallet asked for",
    NotificationType.WALLET_CHANGED: "Wallet changed",
    NotificationType.WALLET_CHANGE_CANCELED: "Change of the wallet canceled",
}
"""All types of notifications."""

DEVICES = {
    DeviceStatus.UNPAIRED: Word("Not paired yet"),
    DeviceStatus.PAIRED: Word("Paired", "good"),
    DeviceStatus.EXPIRED: Word("Expired", "quiet"),
    DeviceStatus.REVOKED: Word("Revoked", "quiet"),
}

SCANS = {
    ScanOutcome.ADMITTED: Word("Came in", "good"),
    ScanOutcome.UNDONE: Word("Entry undone"),
    ScanOutcome.CONFLICT: Word("Conflict", "bad"),
    ScanOutcome.ALREADY_REDEEMED: Word("Already used", "bad"),
    ScanOutcome.SUSPENDED: Word("Suspended", "bad"),
    ScanOutcome.VOID: Word("Taken back", "bad"),
    ScanOutcome.SUPERSEDED: Word("Old code", "bad"),
    ScanOutcome.WRONG_EVENT: Word("Another event", "bad"),
    ScanOutcome.UNKNOWN: Word("Not a ticket", "bad"),
    ScanOutcome.NOT_OPEN: Word("Doors not open", "bad"),
    ScanOutcome.RETURNED: Word("Given back", "bad"),
    ScanOutcome.NOTHING_TO_UNDO: Word("Nothing to undo", "quiet"),
    ScanOutcome.NONCE_REUSED: Word("Scan sent twice", "quiet"),
}

CONFLICTS = {
    ScanOutcome.ALREADY_REDEEMED: "Two people came in with the same ticket.",
    ScanOutcome.SUSPENDED: "The ticket was suspended, because its payment is missing.",
    ScanOutcome.VOID: "The ticket had been taken back.",
    ScanOutcome.SUPERSEDED: "The ticket had been passed on or reissued. This was the old code.",
    ScanOutcome.WRONG_EVENT: "The ticket is for another event.",
    ScanOutcome.UNKNOWN: "The code belongs to no ticket.",
    ScanOutcome.NOT_OPEN: "The doors were not open yet.",
    ScanOutcome.RETURNED: "The ticket was given back, and its place was sold on.",
}
"""Why somebody should not have been let in by a device that was offline."""

KEY_ROLES = {
    Role.READ: "Read everything",
    Role.PAYWALL: "Sell: read, and order without limits",
    Role.WRITE: "Edit events, tickets and the door too",
    Role.ADMIN: "Everything, also money, keys and people",
}
"""What an API key may do."""

MEMBER_ROLES = {
    Role.DOOR: "Only open the scanner at the door",
    Role.READ: KEY_ROLES[Role.READ],
    Role.FINANCE: "Read everything, move money and pay refunds",
    Role.WRITE: KEY_ROLES[Role.WRITE],
    Role.ADMIN: KEY_ROLES[Role.ADMIN],
}
"""What people may do. The role PAYWALL is for software."""

APP_ROLES = {
    Role.READ: "See sales, attendees and refunds",
    Role.WRITE: "See these, and let people in",
    Role.FINANCE: "See sales, attendees and refunds, for your role",
    Role.DOOR: "Let people in",
}
"""What an app may do that a member has connected."""

_HOUR = 3600
_DAY = 24 * _HOUR

KEY_LIVES = {
    _DAY: "1 day",
    30 * _DAY: "30 days",
    90 * _DAY: "90 days",
    365 * _DAY: "1 year",
}
"""For how many seconds a key can live."""

OVERLAPS = {0: "at once", _HOUR: "in 1 hour", _DAY: "in 1 day"}
"""After how many seconds an earlier secret ends."""

KEYS = {
    KeyStatus.ACTIVE: Word("Active", "good"),
    KeyStatus.EXPIRED: Word("Expired", "quiet"),
    KeyStatus.REVOKED: Word("Revoked", "quiet"),
}

MEMBERS = {
    MemberStatus.INVITED: Word("Invited"),
    MemberStatus.ACTIVE: Word("Active", "good"),
    MemberStatus.DISABLED: Word("Disabled", "quiet"),
}

WEBHOOKS = {
    WebhookStatus.ENABLED: Word("Works", "good"),
    WebhookStatus.FAILING: Word("Fails", "bad"),
    WebhookStatus.DISABLED: Word("Disabled", "quiet"),
}

DELIVERIES = {
    DeliveryStatus.WAITING: Word("Waiting"),
    DeliveryStatus.DELIVERED: Word("Delivered", "good"),
    DeliveryStatus.FAILED: Word("Failed", "bad"),
}
