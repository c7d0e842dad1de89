"""The classes of requests, and the limits that operators set, with their defaults."""

from datetime import timedelta
from enum import StrEnum


class CallClass(StrEnum):
    """The class of a request. Each class has a limit of requests per minute for one caller.

    `admin` and `reconciliation` count per credential, door devices included; `order` per order or
    per admission that has changed hands, with wider limits per payment link and per client address;
    `login` per member or invitation, the others per client address. `guess` counts only wrong
    codes.
    """

    PUBLIC = "public"
    CHECKOUT = "checkout"
    ORDER = "order"
    PREFLIGHT = "preflight"
    TOKEN = "token"
    LOGIN = "login"
    GUESS = "guess"
    ADMIN = "admin"
    RECONCILIATION = "reconciliation"


DEFAULT_RATE_LIMITS: dict[CallClass, int] = {
    CallClass.PUBLIC: 600,
    CallClass.CHECKOUT: 300,
    CallClass.ORDER: 240,
    CallClass.PREFLIGHT: 60,
    CallClass.TOKEN: 30,
    CallClass.LOGIN: 10,
    CallClass.GUESS: 10,
    CallClass.ADMIN: 1200,
    CallClass.RECONCILIATION: 6,
}
"""Requests per minute."""

COUNTED_IN_DATABASE = frozenset(
    {CallClass.PREFLIGHT, CallClass.TOKEN, CallClass.LOGIN, CallClass.GUESS}
)
"""Counted for all processes together. Each process counts the other classes in its memory."""

DEFAULT_UNPAID_PER_ADDRESS = 100
"""Seats. One order may have as many."""

DEFAULT_ORDERS_PER_CLIENT = 500
"""Orders per day, canceled ones included."""

DEFAULT_FREE_PER_CLIENT = 10
"""Free seats of one event per day."""

DEFAULT_CROWD_MOST = 1_000
"""The most seats that an organizer allows the people of one network to order (a crowd)."""

TEXT_BYTES_OF_CLIENT = 2_000_000
"""Bytes of names, email addresses and answers in orders of one client in a day that are unpaid."""

TEXT_BYTES_OF_ALL = 1_000_000_000
"""Such bytes in orders of all clients in a day. Above it, no order with answers is made."""

DEFAULT_EARLY_MOST = 1_000_000_000
"""1,000 USDC in micro-units."""

DEFAULT_NOTIFICATION_DAYS, MIN_NOTIFICATION_DAYS, MAX_NOTIFICATION_DAYS = 30, 7, 365
"""Days after which notifications are deleted."""

DEFAULT_WALLET_CHANGE_HOURS, MAX_WALLET_CHANGE_HOURS = 24, 720
"""How long a change of the wallet waits, and how long an administrator must have been one."""

DEFAULT_REFUND_CHANGE_HOURS, MAX_REFUND_CHANGE_HOURS = 24, 168
"""How long a stated refund address waits that the buyer's mailbox does not confirm."""

DEFAULT_PERSONAL_DATA_DAYS = 90
MAX_PERSONAL_DATA_DAYS = 3650
"""Days after the end of an event. Then names and email addresses are erased."""

ORDERS_OF_ADDRESS = 50
"""How many times the limit of one order all orders of one address have together."""

MAILS_OF_CLIENT, MAILS_PER_MAILBOX = 3, 10
"""Mails a day that strangers can cause for one mailbox, over all tenants: one client, and all.

Those that people ask for (password, lost links, place on a waiting list) are not among them.
"""

RESET_HOURS, LINKS_HOURS, PLACE_HOURS = 1, 4, 4
"""Once in so many hours, an address gets what anybody may ask for.

That is the link for a new password, which ends after as long; the links of its orders at one
organizer; and the link of one place on a waiting list.
"""

SENT_AGAIN_PER_DAY = 5
"""How often the mail of an order can be asked for in a day, at the same address or another."""

LINK_REQUESTS_PER_CLIENT = 10
"""Requests a day of one client for lost links, over all tenants, and as many for new passwords."""

MAILBOXES_PER_CLIENT = 20
"""Mailboxes a day to which one client can cause mails without paying, over all tenants."""

MESSAGES_PER_EVENT = 3
"""Messages a day that an organizer writes to the people of one event."""

MAILS_PER_SEAT, MAILS_WITHOUT_SALES = 3, 1000
"""The default of MAILS_PER_TENANT: mails a day for each seat sold, and besides."""

LONGER_HOLDS = 2
"""Unpaid orders of one client in a day that are held longer, for a buyer who pays from an exchange.

At a time, they have as many seats of one event as an order may have.
"""

UNPAID_PER_DEVICE = 40
"""Seats in unpaid orders of one device at the door. It also has the share of a client."""

RETURNED_WANTED_FOR = timedelta(minutes=5)
"""For how long one order has at most half of the returned seats, after an order was refused."""

RETURNED_FIRST_WAIT, RETURNED_MOST_DOUBLINGS = timedelta(minutes=5), 3
"""How long a client gets no returned seats after its orders of the last day ended unpaid.

After the first one 5 minutes, then 10, 20, 40, and not longer.
"""

WIDE_FACTOR = 3
"""The limit of an IPv6 /48 network is that of a /64 times this factor.

So is that of all payers of an order together, who share its payment link: that of an order.
"""

COUNTED_BEFORE_SALE = 5
"""People of one IPv4 address or IPv6 /48 whom a waiting room counts before the sale starts."""

COUNTED_AGAIN_SECONDS = 10
"""After the start of the sale, a waiting room counts one person of such a network in this time."""

TURNS_AT_A_TIME = 20
"""People of one network who have their turn in a waiting room at a time, at most."""

USED_TURNS_PERCENT, USED_TURNS_LEAST = 2, 5
"""How many turns of one network may end while others wait: percent of the unsold seats, at least.
"""

IDLE_TURN_SECONDS = 120
"""A turn in a waiting room ends after so long without a request, if others of the network wait."""

PLACES_PER_CLIENT = 20
"""Open places of one client on the waiting lists of one event: unconfirmed, waiting or offered."""

OFFERS_PER_CLIENT = 2
"""Unpaid offers of one client at a time, of the waiting lists of one event, before others have one.
"""

PASSED_OVER_FOR = timedelta(hours=1)
"""For how long a waiting list keeps seats from buyers that are too few for everybody who waits.

A client with OFFERS_PER_CLIENT offers gets one more only for seats that nobody bought for so long.
"""

UNPAID_OFFERS = ((3, 4), (9, 12))
"""Offers are short after 3 of the event's last 4 that ended were not paid, or 9 of the last 12."""

SHORT_OFFER = timedelta(hours=3)
"""How long a short offer is held. The night does not count: from 22:00 to 8:00 at the event."""

NAMED_PER_CLIENT, NAMED_PER_WALLET = 200, 100_000
"""Addresses a day that x402 clients are told before an order: one client, and all of a wallet."""

DESCRIPTION_SECONDS = 10
"""For how many seconds an hour the worker waits for URLs of apps that a tenant's members open."""

DESCRIPTION_KEPT = timedelta(minutes=10)
"""For how long what an app says of itself is known, and that nothing came from its URL."""

DESCRIPTION_STEPS = 2000
"""How often the parser of one description may begin to look for a block, or for a sign in a text.

Each step takes some microseconds.
"""
