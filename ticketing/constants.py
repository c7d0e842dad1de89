"""Statuses and the moves between them, roles, limits: the tables people look for."""

from datetime import timedelta
from enum import StrEnum


class Role(StrEnum):
    """What a credential may do. A ladder: each holds what those before it hold."""

    READ = "read"
    PAYWALL = "paywall"
    WRITE = "write"
    ADMIN = "admin"

    def holds(self, needed: "Role") -> bool:
        """Tell whether this role is `needed` or stands above it."""
        ladder = list(Role)
        return ladder.index(self) >= ladder.index(needed)


class CallClass(StrEnum):
    """What kind of call is counted. Each kind has a limit a minute for one caller.

    `admin` and `reconciliation` count a credential, `order` the order of a client secret, `login`
    a tenant's member, the others an address.
    """

    PUBLIC = "public"
    CHECKOUT = "checkout"
    ORDER = "order"
    PREFLIGHT = "preflight"
    TOKEN = "token"
    LOGIN = "login"
    ADMIN = "admin"
    RECONCILIATION = "reconciliation"


DEFAULT_RATE_LIMITS: dict[CallClass, int] = {
    CallClass.PUBLIC: 600,
    CallClass.CHECKOUT: 300,
    CallClass.ORDER: 60,
    CallClass.PREFLIGHT: 60,
    CallClass.TOKEN: 30,
    CallClass.LOGIN: 10,
    CallClass.ADMIN: 1200,
    CallClass.RECONCILIATION: 6,
}
"""Requests a minute."""

COUNTED_IN_DATABASE = frozenset({CallClass.PREFLIGHT, CallClass.TOKEN, CallClass.LOGIN})
"""Counted for all processes together. The others are counted in memory, by each process."""

DEFAULT_UNPAID_PER_ADDRESS = 100
"""Seats: as many as one order may have."""

DEFAULT_ORDERS_PER_CLIENT = 500
"""Orders a day, canceled ones included."""

DEFAULT_FREE_PER_CLIENT = 10
"""Free seats of one event a day."""

WIDE_FACTOR = 3
"""How many times the limit of an IPv6 /64 its /48 has."""

HOLD_UNDER_PRESSURE = timedelta(minutes=5)
"""How long an order is held at most while more than half of what is unsold is held."""


class KeyStatus(StrEnum):
    """Where an API key is in its life."""

    ACTIVE = "active"
    EXPIRED = "expired"
    REVOKED = "revoked"


class EventType(StrEnum):
    """How people attend."""

    ONLINE = "online"
    IN_PERSON = "in_person"
    HYBRID = "hybrid"


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
    """Where a payment intent is between preflight and its end."""

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
    """What is unusual about how an intent was paid."""

    UNDERPAID = "underpaid"
    OVERPAID = "overpaid"
    PAID_LATE = "paid_late"
    DUPLICATE = "duplicate"
    REORGED = "reorged"


class AdmissionStatus(StrEnum):
    """Whether an admission opens the door."""

    VALID = "valid"
    SUSPENDED = "suspended"


class Obstacle(StrEnum):
    """What keeps people from buying right now, as its organizer sees it."""

    NOT_PUBLISHED = "not_published"
    EVENT_NOT_PUBLISHED = "event_not_published"
    NO_PUBLISHED_TICKET_TYPE = "no_published_ticket_type"
    WALLET_MISSING = "wallet_missing"
    CHAIN_NOT_ENABLED = "chain_not_enabled"
    SALES_NOT_STARTED = "sales_not_started"
    SALES_ENDED = "sales_ended"
    SOLD_OUT = "sold_out"
    JOIN_URL_MISSING = "join_url_missing"


class Availability(StrEnum):
    """Whether a published ticket type can be bought, as the public sees it."""

    ON_SALE = "on_sale"
    NOT_STARTED = "not_started"
    ENDED = "ended"
    SOLD_OUT = "sold_out"
    UNAVAILABLE = "unavailable"


CURRENCY = "USDC"
MICRO_UNIT_DECIMALS = 6

MAX_SAFE_INTEGER = 2**53 - 1
MAX_PRICE = 10**15
MAX_PER_ORDER = 100
DEFAULT_MAX_PER_ORDER = 10

MIN_KEY_TTL = 60
MAX_KEY_TTL = 31_536_000
DEFAULT_KEY_TTL = 7_776_000

MAX_OVERLAP = 86_400
DEFAULT_OVERLAP = 3600
"""Seconds that the old secret of a rotated key stays good."""

MAX_BODY_BYTES = 64 * 1024

DEFAULT_PAGE = 25
MAX_PAGE = 100

PART_EXTENSION = timedelta(minutes=10)
"""How much longer an order is held, once, when half of its price or more has arrived in time."""

LATE_PAYMENT = timedelta(hours=24)
"""How long after its deadline an expired order can still be honoured by one late transfer."""

REORG_GRACE = timedelta(minutes=15)
"""How long an order is held after a reorganization took its payment away."""

WATCH_AFTER_END = timedelta(days=1)
"""How long the logs of an ended intent's address are still read."""

LOOKS_AT_ONCE = 2
"""How many requests of one process may wait for a node at a time: half of its threads."""
