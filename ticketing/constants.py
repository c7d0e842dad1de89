"""Statuses and their transitions, sizes and time limits."""

from datetime import UTC, datetime, timedelta
from enum import StrEnum


class QuestionType(StrEnum):
    """What the answer to a question is."""

    TEXT = "text"
    LONG_TEXT = "long_text"
    BOOLEAN = "boolean"
    CHOICE = "choice"
    MULTIPLE_CHOICE = "multiple_choice"
    NUMBER = "number"
    DATE = "date"


class Ask(StrEnum):
    """When a question is asked: once before the order, or of each ticket until the doors open."""

    ORDER = "order"
    ATTENDEE = "attendee"


MAX_CROWDS, CROWD_WIDEST = 10, {4: 16, 6: 32}
"""Crowds of an event, and the shortest prefix of one's network, by the version of IP."""

MAX_QUESTIONS = 20
"""Questions of one event that are not archived."""

MAX_ARCHIVED_QUESTIONS = 80
MAX_OPTIONS = 50
MAX_OPTION = 100
MAX_TEXT_ANSWER, MAX_LONG_ANSWER = 200, 1000
MAX_ANSWER_BYTES = 16 * 1024
"""All answers of one order, or of one ticket."""

MAX_ANSWER_NUMBER = 10**12
ANSWER_DECIMALS = 6


class EventType(StrEnum):
    """The form of an event."""

    ONLINE = "online"
    IN_PERSON = "in_person"
    HYBRID = "hybrid"


class Visibility(StrEnum):
    """Who finds a published event. One that is unlisted is in no list: people need its link."""

    PUBLIC = "public"
    UNLISTED = "unlisted"


class Publication(StrEnum):
    """The status of an event and of a ticket type."""

    DRAFT = "draft"
    PUBLISHED = "published"
    CANCELED = "canceled"


PUBLICATION_MOVES: dict[Publication, frozenset[Publication]] = {
    Publication.DRAFT: frozenset({Publication.PUBLISHED, Publication.CANCELED}),
    Publication.PUBLISHED: frozenset({Publication.DRAFT, Publication.CANCELED}),
    Publication.CANCELED: frozenset(),
}


class IntentStatus(StrEnum):
    """The status of a payment intent."""

    AWAITING_PAYMENT = "awaiting_payment"
    PROCESSING = "processing"
    CONFIRMED = "confirmed"
    EXPIRED = "expired"
    CANCELED = "canceled"
    REVERSED = "reversed"


LIVE = (IntentStatus.AWAITING_PAYMENT, IntentStatus.PROCESSING)
"""The statuses in which an intent holds stock."""

SOLD = (IntentStatus.CONFIRMED, IntentStatus.REVERSED)
"""The statuses in which an intent's stock counts as sold."""


class Flag(StrEnum):
    """Irregularities in the payment of an intent."""

    UNDERPAID = "underpaid"
    OVERPAID = "overpaid"
    PAID_LATE = "paid_late"
    DUPLICATE = "duplicate"
    REORGED = "reorged"


class SalesBy(StrEnum):
    """By what sales are counted."""

    DAY = "day"
    TICKET = "ticket"
    VOUCHER = "voucher"
    TAG = "tag"


class AdmissionStatus(StrEnum):
    """Whether an admission allows entry. Only a suspended one becomes valid again."""

    VALID = "valid"
    SUSPENDED = "suspended"
    VOID = "void"


EVENT_CANCELED_REASON = "event_canceled"
"""The void_reason of admissions that were voided with their event. No other void may have it."""

RESOLD_REASON = "resold"
"""The void_reason of admissions that were given back, and sold on. No other void may have it."""


class ReturnPolicy(StrEnum):
    """Whether holders can give seats of a ticket type back."""

    NONE = "none"
    WHEN_RESOLD = "when_resold"


class ReturnStatus(StrEnum):
    """What became of a seat that was given back.

    `in_progress`: as many seats are being paid for as are given back, so this one must stay.
    """

    OFFERED = "offered"
    IN_PROGRESS = "in_progress"
    RESOLD = "resold"


RETURNS_END_BEFORE_DOORS = timedelta(hours=4)
MAX_RETURN_FEE_PERCENT = 50


class RefundStatus(StrEnum):
    """What became of the money that an order owes or owed."""

    DUE = "due"
    WAIVED = "waived"
    SETTLED = "settled"


class PayeeSource(StrEnum):
    """Who decided where an account's refunds go.

    `signer`: one account paid by transfers that it signed for this order (EIP-3009). `wallet`: the
    wallet that the buyer paid with on the order's page. `stated`: the buyer. `entered`: an
    administrator, whom the buyer told.
    """

    SIGNER = "signer"
    WALLET = "wallet"
    STATED = "stated"
    ENTERED = "entered"


class PayeeCaution(StrEnum):
    """Why an organizer should look at a payee before signing.

    `replaces_proven`: the payee replaced a `signer` or `wallet` one, and the buyer's mailbox didn't
    confirm it. `nobody_told`: nobody got a mail about the statement.
    """

    EMAIL_CHANGED_BY_STAFF = "email_changed_by_staff"
    REPLACES_PROVEN = "replaces_proven"
    NOBODY_TOLD = "nobody_told"
    ENTERED = "entered"


class PayoutReason(StrEnum):
    """Why an order that is due is not on a list.

    `not_covered`: its address and its recorded collections have less than the books say it
    received. `nodes_behind`: a node lacks the last block that the worker has read, or did not say
    whether an earlier id was used. `unwitnessed`: only one node has seen its payments. `cautioned`:
    look at its payee first. `transfer_refused`: the token refuses the transfer; its issuer may have
    frozen the address. `already_paid`: an id of it is used, and that is not final or not booked, or
    no payment is known. `paid_elsewhere`: real money went out with an id of it, to another address
    or of another amount. `waits_until`: the buyer has stated an address that does not count yet.
    `no_payee`: nobody has said where to. `by_hand`: the organizer pays it by hand. `not_final`: the
    payment that is owed back is not final. `not_chosen`: the call has named others.
    `beyond_balance`: the payer has too little. `below_one_unit`: the token has no unit so small.
    """

    NOT_COVERED = "not_covered"
    NODES_BEHIND = "nodes_behind"
    UNWITNESSED = "unwitnessed"
    CAUTIONED = "cautioned"
    TRANSFER_REFUSED = "transfer_refused"
    ALREADY_PAID = "already_paid"
    PAID_ELSEWHERE = "paid_elsewhere"
    WAITS_UNTIL = "waits_until"
    NO_PAYEE = "no_payee"
    BY_HAND = "by_hand"
    NOT_FINAL = "not_final"
    NOT_CHOSEN = "not_chosen"
    BEYOND_BALANCE = "beyond_balance"
    BELOW_ONE_UNIT = "below_one_unit"


class RefundRecipient(StrEnum):
    """Who gets the money back if an admission is voided with a refund."""

    ORDER_BUYER = "order_buyer"


class WalletWarning(StrEnum):
    """What an organizer should still do for a wallet. Only the first one stops the sale."""

    CONTRACT_UNCONFIRMED = "contract_unconfirmed"
    WALLET_UNTESTED = "wallet_untested"
    RECOVERY_FILE_NOT_SAVED = "recovery_file_not_saved"
    RECOVERY_FILE_OUTDATED = "recovery_file_outdated"


class TicketTypeWarning(StrEnum):
    """What an organizer may want to change. The ticket type is on sale all the same."""

    FEE_EXCEEDS_PRICE = "fee_exceeds_price"
    MAIL_NOT_CONFIGURED = "mail_not_configured"
    FACILITATOR_UNAVAILABLE = "facilitator_unavailable"


class Obstacle(StrEnum):
    """Why nobody can buy right now, as the organizer sees it."""

    NOT_PUBLISHED = "not_published"
    EVENT_NOT_PUBLISHED = "event_not_published"
    NO_PUBLISHED_TICKET_TYPE = "no_published_ticket_type"
    WALLET_MISSING = "wallet_missing"
    CHAIN_NOT_ENABLED = "chain_not_enabled"
    WALLET_NOT_ON_CHAIN = "wallet_not_on_chain"
    RECEIVERS_UNAVAILABLE = "receivers_unavailable"
    SALES_NOT_STARTED = "sales_not_started"
    SALES_ENDED = "sales_ended"
    EVENT_OVER = "event_over"
    SOLD_OUT = "sold_out"
    JOIN_URL_MISSING = "join_url_missing"
    VOUCHER_ONLY = "voucher_only"


class PriceMode(StrEnum):
    """What a voucher does to the price of a seat."""

    NONE = "none"
    SET = "set"
    SUBTRACT = "subtract"
    PERCENT = "percent"


class VoucherStatus(StrEnum):
    """The status of a voucher. A usage that is held counts as used until its order ends."""

    ACTIVE = "active"
    USED_UP = "used_up"
    EXPIRED = "expired"
    DISABLED = "disabled"


class VoucherMisfit(StrEnum):
    """Why an active voucher does not fit an order."""

    TOO_MANY_SEATS = "too_many_seats"
    TOO_FEW_SEATS = "too_few_seats"
    NOT_FOR_THESE_TICKETS = "not_for_these_tickets"


class Availability(StrEnum):
    """Whether a published ticket type can be bought, as the public sees it."""

    ON_SALE = "on_sale"
    NOT_STARTED = "not_started"
    ENDED = "ended"
    SOLD_OUT = "sold_out"
    HELD = "held"
    UNAVAILABLE = "unavailable"


CURRENCY = "USDC"
MICRO_UNIT_DECIMALS = 6

MAX_USAGES = 100_000
"""Seats of one voucher."""
MAX_VOUCHERS_AT_ONCE = 500
MAX_TICKET_TYPES_OF_VOUCHER = 100

MAX_SAFE_INTEGER = 2**53 - 1
MAX_PRICE = 10**15
MAX_TOLERANCE_PERCENT = 5
MAX_TOLERANCE = 5_000_000
DEFAULT_TOLERANCE_MOST = 1_500_000
"""How much of a payment may be missing: percent of the amount, and micro-units."""

MAX_CODE_TYPED = 100
"""Of a voucher's code as a buyer sends it: with spaces, or wrong."""

MAX_ITEMS = 10
"""The most ticket types in one order: its seats are locked one type after the other."""

LEAST_FREE_PRICE = 10_000
"""What a buyer pays at least where they choose the price, unless they pay nothing."""

MAX_POSITION = 1_000_000
FEW_LEFT = 10
"""The public sees how many are left from here on: less than most orders may have."""

FEW_LEFT_PERCENT = 20
"""And only if these are so few of all. Otherwise a room with 12 seats would begin with it."""
MAX_PER_ORDER = 100
DEFAULT_MAX_PER_ORDER = 10

RESERVED_SLUGS = frozenset(
    [
        "v1",
        "docs",
        "console",
        "door",
        "o",
        "t",
        "x",
        "mcp",
        "static",
        "healthz",
        "readyz",
        "metrics",
        "openapi.json",
        "llms.txt",
        ".well-known",
        "robots.txt",
        "favicon.ico",
    ]
)
"""The first words of all paths that are not a tenant's. Later ones begin with `_`."""

MAX_GUESTS = 100
"""Admissions that one request may put on a guest list."""

MIN_KEY_TTL = 60
MAX_KEY_TTL = 31_536_000
DEFAULT_KEY_TTL = 7_776_000

MAX_OVERLAP = 86_400
DEFAULT_OVERLAP = 3600
"""For how many seconds the old secret of a rotated key stays valid."""

MAX_BODY_BYTES = 64 * 1024

MAX_IMAGE_BYTES = 12 * 1024 * 1024
"""Of a picture or a logo that is uploaded: a photo as a phone takes it."""

MAX_IMAGE_FORM_BYTES = MAX_IMAGE_BYTES + 16 * 1024
"""Of the form with the picture, which has names and boundaries besides."""

MAX_IMAGE_PIXELS = 50_000_000
MIN_IMAGE_WIDTH, MIN_LOGO_WIDTH = 600, 64

DEFAULT_PAGE = 25
MAX_PAGE = 100

BILLING_AFTER_EVENT = timedelta(days=90)
"""For how long after an event a buyer may write who the order is billed to."""
MAX_BILLING = 500
"""Characters of name, address and tax id together."""
RECEIPT_NOTICE = "Receipt, not a tax invoice"

MAX_PAYMENTS_SHOWN = MAX_PAYERS_SHOWN = 25
"""How many payments the answer for one order has, and how many payers the one for its refund.

Anyone can send an order thousands of tiny payments.
"""

KEYS_PER_ORDER = 100
"""Stored responses a day of requests with the secret of one order."""

KEYS_PER_ORDER_OF_CLIENT = 4
"""Stored responses a day of a client without a credential, for each order that it may have."""

MAX_STORED_BODY = 4096
"""Characters of a stored response to a request without a credential."""

MAX_UNKNOWN_NAMED, MAX_NAME_SHOWN = 10, 64
"""How many unknown members an error names, and how many characters of each name."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""The earliest time that the service accepts and shows."""

DOORS_BEFORE_START = timedelta(hours=2)
"""How long before its start the doors of an event open by default."""

OVER_AFTER_START = timedelta(hours=6)
"""When an event without an end is over. Until then, tickets are sold to people who walk in."""

EVENT_WITHOUT_END = timedelta(days=1)
"""How long after its start the end of an event is assumed if it has none."""

UNPAID_SHARE_PERCENT = 5
"""The part of an event's unsold seats that a client without a credential may hold unpaid."""

HOLD_UNDER_PRESSURE = timedelta(minutes=5)
"""The longest hold of an order while orders hold more than half of the unsold tickets."""

EXCHANGE_HOLD = timedelta(minutes=60)
"""For how long an order is held whose buyer pays from an exchange, counted from the order."""

PART_EXTENSION = timedelta(minutes=10)
"""How much longer an order is held, once, if at least half of its price arrived in time."""

LATE_PAYMENT = timedelta(hours=24)
"""For how long after its deadline one late transfer can still pay for an expired order."""

REORG_GRACE = timedelta(minutes=15)
"""How long an order is held after a reorganization removed its payment."""

REFUND_ADDRESS_OVERLAP = timedelta(hours=72)
"""For how long a refund may still go to the earlier address: the payer's, or a replaced one."""

MOST_CHOSEN = 1000
"""How many orders a list of payouts may be limited to."""

REFUND_ADDRESSES_PER_DAY = 5
"""How often the address for an order's refunds can be stated or changed in 24 hours."""

OFFER_LIVES = timedelta(hours=48)
"""For how long a transfer's offer can be accepted."""

TRANSFERS_PER_DAY = 3
"""How often one admission can be offered in 24 hours."""

INVITATION_LIVES = timedelta(hours=48)
"""For how long an invitation of a member can be accepted."""

SESSION_IDLE, SESSION_LIVES = timedelta(hours=12), timedelta(days=7)
"""After how long without a request a session ends, and after how long in any case."""

MAX_TICKET_CHAINS = 8
"""Networks on which one ticket type may be sold."""

MAX_WALLET_CHAINS = 64
"""Networks on which an organizer may say to control one address."""

RECOVERY_FILE_TOO_OLD = 200_000
"""How many addresses a wallet may issue before its recovery file should be saved again."""

MOST_CONFIRMATIONS = 10_000
"""How many blocks at most may be required after a payment's block, its own included."""

WATCH_AFTER_END = timedelta(days=1)
"""For how long the worker still reads the logs of an ended intent's address."""

LOOK_SECONDS = 2.0
"""How often, on average, a process reads the chain for purchases of one unpaid order."""

LOOKS_AT_ONCE = 2
"""How many requests of one process may wait for others' servers at a time: half of its threads."""


class CollectionPurpose(StrEnum):
    """What a transaction of a collection does."""

    DEPLOY = "deploy"
    COLLECT = "collect"


class BlockedReason(StrEnum):
    """Why an order that holds something cannot be collected now.

    FAILS: the token refuses the transfer, as if frozen. NOT_FINAL: what it holds arrived just now.
    ANOTHER_BALANCE: its address holds less than what is booked and final. NOT_OVER: it is live, or
    ended less than WATCH_AFTER_END ago. OUT_OF_REACH: nobody says that the owner's address is
    theirs on this chain.
    """

    FAILS = "transfer_fails"
    NOT_FINAL = "not_final"
    ANOTHER_BALANCE = "another_balance"
    NOT_OVER = "not_over"
    OUT_OF_REACH = "out_of_reach"
