"""The types of notifications, the mails that follow from them, and how deliveries end."""

from enum import StrEnum


class NotificationType(StrEnum):
    """The facts that are recorded as notifications."""

    EVENT_PUBLISHED = "event.published"
    EVENT_CHANGED = "event.changed"
    EVENT_CANCELED = "event.canceled"
    TICKET_TYPE_SOLD_OUT = "ticket_type.sold_out"
    TICKET_TYPE_AVAILABLE_AGAIN = "ticket_type.available_again"
    VOUCHER_USED_UP = "voucher.used_up"
    INTENT_CREATED = "intent.created"
    INTENT_PART_PAID = "intent.part_paid"
    INTENT_PROCESSING = "intent.processing"
    INTENT_CONFIRMED = "intent.confirmed"
    INTENT_FINALIZED = "intent.finalized"
    INTENT_EXPIRED = "intent.expired"
    INTENT_CANCELED = "intent.canceled"
    INTENT_REVERSED = "intent.reversed"
    INTENT_CHAIN_CHANGED = "intent.chain_changed"
    STRAY_SEEN = "stray.seen"
    REFUND_DUE = "refund.due"
    REFUND_ADDRESS_CHANGED = "refund.address_changed"
    REFUND_SETTLED = "refund.settled"
    REFUND_WAIVED = "refund.waived"
    ADMISSION_ISSUED = "admission.issued"
    ADMISSION_TRANSFER_OFFERED = "admission.transfer_offered"
    ADMISSION_TRANSFERRED = "admission.transferred"
    ADMISSION_RETURN_OFFERED = "admission.return_offered"
    ADMISSION_RETURN_CANCELED = "admission.return_canceled"
    ADMISSION_VOIDED = "admission.voided"
    ADMISSION_REISSUED = "admission.reissued"
    ADMISSION_REDEEMED = "admission.redeemed"
    ADMISSION_REDEEM_UNDONE = "admission.redeem_undone"
    DOOR_DEVICE_PAIRED = "door_device.paired"
    API_KEY_CREATED = "api_key.created"
    MEMBER_INVITED = "member.invited"
    WALLET_CHANGE_REQUESTED = "wallet.change_requested"
    WALLET_CHANGED = "wallet.changed"
    WALLET_CHANGE_CANCELED = "wallet.change_canceled"
    MESSAGE_SENT = "message.sent"
    WEBHOOK_FAILING = "webhook.failing"
    WEBHOOK_TEST = "webhook.test"


class MailKind(StrEnum):
    """The mails that are sent. `ticket` brings one admission to its holder."""

    ORDER_PLACED = "order_placed"
    PART_ARRIVED = "part_arrived"
    ORDER_CONFIRMED = "order_confirmed"
    TICKET = "ticket"
    TICKET_AGAIN = "ticket_again"
    TRANSFER_OFFERED = "transfer_offered"
    EMAIL_CHANGED = "email_changed"
    EMAIL_CHANGED_BY_ORGANIZER = "email_changed_by_organizer"
    ORDER_LINK_ENDED = "order_link_ended"
    REFUND_DUE = "refund_due"
    REFUND_ADDRESS_CHANGED = "refund_address_changed"
    REFUND_ADDRESS_NEWS = "refund_address_news"
    REFUND_ADDRESS_ENTERED = "refund_address_entered"
    REFUNDS_CAUTIONED = "refunds_cautioned"
    REFUND_SETTLED = "refund_settled"
    EVENT_CANCELED = "event_canceled"
    EVENT_MOVED = "event_moved"
    ANSWERS_MISSING = "answers_missing"
    REMINDER = "reminder"
    MESSAGE = "message"
    MESSAGE_PREVIEW = "message_preview"
    MESSAGE_WRITTEN = "message_written"
    SALE = "sale"
    SALES_OF_DAY = "sales_of_day"
    LOST_LINKS = "lost_links"
    WAITING_LIST_JOINED = "waiting_list_joined"
    WAITING_LIST_OFFER = "waiting_list_offer"
    WAITING_LIST_REMINDER = "waiting_list_reminder"
    WAITING_LIST_ENDED = "waiting_list_ended"
    MEMBER_INVITED = "member_invited"
    PASSWORD_RESET = "password_reset"
    PASSWORD_CHANGED = "password_changed"
    WALLET_CHANGE_REQUESTED = "wallet_change_requested"
    WALLET_CHANGED = "wallet_changed"
    WALLET_CHANGE_CANCELED = "wallet_change_canceled"
    WEBHOOK_FAILING = "webhook_failing"


ASKED_BY_ANYBODY = (MailKind.LOST_LINKS, MailKind.PASSWORD_RESET, MailKind.WAITING_LIST_JOINED)
"""Mails that a stranger can ask for, at any address."""

ASKED_FOR = (MailKind.ORDER_PLACED, MailKind.ORDER_CONFIRMED, MailKind.REFUND_DUE)
"""The mails that the buyer of an order can ask for, by its link. They follow from no notification.

What is to be paid, what was bought, or what is owed.
"""


class MailStatus(StrEnum):
    """Whether a mail was sent. A dropped one is not tried again."""

    WAITING = "waiting"
    SENT = "sent"
    DROPPED = "dropped"


class Audience(StrEnum):
    """To whom a message of an organizer goes: to those who can still come, or could.

    `holders`: of valid tickets. `buyers`: who ordered these. `not_redeemed`: holders who have not
    come in. `canceled`: whose tickets ended with the event.
    """

    HOLDERS = "holders"
    BUYERS = "buyers"
    NOT_REDEEMED = "not_redeemed"
    CANCELED = "canceled"


MAX_REMINDER_HOURS = 168
"""How long before its start an event may remind its people: a week."""


class MessageStatus(StrEnum):
    """What became of a message. A preview goes to its writer only, and is in no list."""

    SCHEDULED = "scheduled"
    SENDING = "sending"
    SENT = "sent"
    CANCELED = "canceled"
    PREVIEW = "preview"


class SaleMails(StrEnum):
    """How administrators learn of sales: of each at once, once a day, or not by mail."""

    NONE = "none"
    EACH = "each"
    DAILY = "daily"


EVERY_TYPE = "*"
"""Stands for all types in the selection of a webhook endpoint."""

MAX_WEBHOOKS = 20
"""Webhook endpoints of one tenant."""

MAX_RESENT = 100
"""Notifications that one request may send again by their ids."""


class WebhookStatus(StrEnum):
    """Whether a webhook endpoint is delivered to. A failing one is tried again by itself."""

    ENABLED = "enabled"
    FAILING = "failing"
    DISABLED = "disabled"


class DeliveryStatus(StrEnum):
    """What became of a delivery."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    FAILED = "failed"


class DeliveryError(StrEnum):
    """Why an attempt to deliver a webhook got no answer with a status."""

    TIMEOUT = "timeout"
    NAME_NOT_RESOLVED = "name does not resolve"
    ADDRESS_NOT_ALLOWED = "address not allowed"
    CONNECTION_REFUSED = "connection refused"
    CONNECTION_FAILED = "connection failed"
    CONNECTION_CLOSED = "connection closed"
    CERTIFICATE_INVALID = "certificate not valid"
    TLS_FAILED = "tls failed"
    INVALID_RESPONSE = "invalid response"
    NOTIFICATION_DELETED = "notification deleted"
    SECRET_UNREADABLE = "secret unreadable"
    INTERNAL_ERROR = "internal error"


class DisabledReason(StrEnum):
    """Why a webhook endpoint was disabled: it failed for days, or it answered 410."""

    FAILING = "failing"
    GONE = "gone"
