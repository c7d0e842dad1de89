"""Write docs/limits.md: `python -m tools.limits`.

One table has every scarce thing, and what one client may have of it. A second one computes from it
what attackers of four sizes can have. A limit that is in no row fails a test.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ticketing import limits
from ticketing.constants import (
    EXCHANGE_HOLD,
    HOLD_UNDER_PRESSURE,
    KEYS_PER_ORDER,
    LOOKS_AT_ONCE,
    MAX_CROWDS,
    REFUND_ADDRESSES_PER_DAY,
    TRANSFERS_PER_DAY,
    UNPAID_SHARE_PERCENT,
)
from ticketing.limits import COUNTED_IN_DATABASE, DEFAULT_RATE_LIMITS, CallClass
from ticketing.server.worker import (
    UPLOAD_LEAST_BYTES,
    UPLOAD_SLOW_AFTER_SECONDS,
    UPLOADS_AT_ONCE,
)
from ticketing.services.notifications.webhooks import MAX_WAITING
from ticketing.waiting_list import JOINS_PER_CLIENT, MAX_QUANTITY, MOST_WAITING

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "limits.md"
BEGIN, END = "<!-- {}: python -m tools.limits -->", "<!-- end of {} -->"

SEATS, PER_ORDER, RETURNED, USES, WAITED_FOR = 1_000, 10, 40, 100, 20
"""The event of the example: unsold seats, `max_per_order`, seats that are given back, uses of a
voucher, and seats that become free for its waiting list."""

HELD, DAILY, PROCESS = "held", "in a day", "of a process"
"""The three kinds, each with one function: `client_limits.check_held` under the client's lock,
`daily_counts` one at a time, `outside_slots.slot`."""


@dataclass(frozen=True)
class Attacker:
    """Somebody with so many addresses. One IPv6 /48 counts as WIDE_FACTOR of them."""

    name: str
    addresses: int


ATTACKERS = (
    Attacker("one IPv4 address", 1),
    Attacker("one IPv6 /48", limits.WIDE_FACTOR),
    Attacker("50 IPv4 addresses", 50),
    Attacker("1,000 addresses", 1_000),
)


@dataclass(frozen=True)
class Row:
    """A scarce thing.

    `most`: what one client has at most, `less`: what shortens that, `again`: when it is free again,
    `code`: the error. `names`: the limits of ticketing/limits.py that it is made of. `one`: how
    many of `unit` one address has at most in the event of the example, of `all` that there are.
    None: it has no sum, or nobody else has less for it.
    """

    thing: str
    kind: str
    most: str
    less: str
    again: str
    code: str
    names: Sequence[str] = ()
    one: int | None = None
    all: int | None = None
    unit: str = ""
    of_wide: bool = False
    """All addresses of a /48 are one client."""

    def had_by(self, attacker: Attacker) -> int:
        """Return how many an attacker can have at a time, or in a day."""
        assert self.one is not None
        is_one = self.of_wide and attacker.addresses == limits.WIDE_FACTOR
        had = self.one * (1 if is_one else attacker.addresses)
        return had if self.all is None else min(had, self.all)


def share(unsold: int) -> int:
    """Return how many of so many unsold things one address may hold unpaid."""
    return max(PER_ORDER, unsold * UNPAID_SHARE_PERCENT // 100)


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:g} minutes"


PRESSED = _minutes(HOLD_UNDER_PRESSURE.total_seconds())
_FIRST = _minutes(limits.RETURNED_FIRST_WAIT.total_seconds())
_LAST = limits.RETURNED_FIRST_WAIT * 2**limits.RETURNED_MOST_DOUBLINGS
_HALVED = (
    "each of its orders of the day that ended unpaid halves it, while others hold more than half;"
    " not after it paid for one"
)

ROWS = (
    Row(
        "unsold seats, unpaid",
        HELD,
        f"{UNPAID_SHARE_PERCENT} percent of those of a ticket type or event, or `max_per_order`;"
        f" over all events `UNPAID_PER_ADDRESS` ({limits.DEFAULT_UNPAID_PER_ADDRESS})",
        f"{_HALVED}. Then orders are held {PRESSED}",
        "when its order ends",
        "`too_much_unpaid`",
        ("DEFAULT_UNPAID_PER_ADDRESS",),
        one=share(SEATS),
        all=SEATS,
        unit="seats",
    ),
    Row(
        "returned seats, unpaid",
        HELD,
        "the same share of what is offered. For"
        f" {_minutes(limits.RETURNED_WANTED_FOR.total_seconds())} after an order was refused, one"
        " order has at most half",
        f"always {PRESSED}, no longer hold",
        f"after an order ended unpaid: {_FIRST}, doubled with each, up to"
        f" {_minutes(_LAST.total_seconds())}",
        "`too_much_unpaid`, `returned_unpaid`",
        ("RETURNED_WANTED_FOR", "RETURNED_FIRST_WAIT", "RETURNED_MOST_DOUBLINGS"),
        one=share(RETURNED),
        all=RETURNED,
        unit="returned seats",
    ),
    Row(
        "uses of a voucher with more than one, unpaid",
        HELD,
        "the same share of its uses",
        _HALVED,
        "when its order ends",
        "`too_much_unpaid`; to others `voucher_held`",
        one=share(USES),
        all=USES,
        unit="uses",
    ),
    Row(
        "longer holds (a buyer pays from an exchange)",
        HELD,
        f"`max_per_order` seats of an event at a time, {limits.LONGER_HOLDS} unpaid orders a day",
        "none while others hold more than half",
        f"{_minutes(EXCHANGE_HOLD.total_seconds())} after the order",
        "`too_much_unpaid`, `too_many_holds`",
        ("LONGER_HOLDS",),
        one=PER_ORDER,
        all=SEATS,
        unit="seats, for an hour",
    ),
    Row(
        "open offers of a waiting list",
        HELD,
        f"{limits.OFFERS_PER_CLIENT} of an event, while anybody else wants the seats",
        " or ".join(f"{unpaid} of the last {of}" for unpaid, of in limits.UNPAID_OFFERS)
        + f" ended unpaid: {limits.SHORT_OFFER.total_seconds() / 3600:g} hours, without the night",
        "when the offer ends",
        "none: the next one is offered the seats, then everybody; after"
        f" {_minutes(limits.PASSED_OVER_FOR.total_seconds())} the client",
        ("OFFERS_PER_CLIENT", "UNPAID_OFFERS", "SHORT_OFFER", "PASSED_OVER_FOR"),
        one=limits.OFFERS_PER_CLIENT * MAX_QUANTITY,
        all=WAITED_FOR,
        unit="seats",
    ),
    Row(
        "places on the waiting lists of an event",
        HELD,
        f"{limits.PLACES_PER_CLIENT} open ones, {JOINS_PER_CLIENT} new ones a day",
        "",
        "when it leaves, or its offer ends",
        "`too_many_places`, `too_many_joins`",
        ("PLACES_PER_CLIENT",),
        one=limits.PLACES_PER_CLIENT,
        all=MOST_WAITING,
        unit="places",
    ),
    Row(
        "seats of a device at the door, unpaid",
        HELD,
        f"{limits.UNPAID_PER_DEVICE}, and the share of a client",
        f"always {PRESSED}",
        "when its order ends",
        "`box_office_full`",
        ("UNPAID_PER_DEVICE",),
    ),
    Row(
        "people who count in a waiting room",
        HELD,
        f"{limits.COUNTED_BEFORE_SALE} before the sale, one in {limits.COUNTED_AGAIN_SECONDS} s"
        " after it starts, of an IPv4 address or a /48. Others have a place that counts nobody",
        "",
        "",
        "`waiting_room`",
        ("COUNTED_BEFORE_SALE", "COUNTED_AGAIN_SECONDS"),
    ),
    Row(
        "turns of a waiting room",
        HELD,
        f"1 to {limits.TURNS_AT_A_TIME} at a time: as many as its share has orders. While others"
        f" wait, {limits.USED_TURNS_PERCENT} percent of the unsold seats in used ones, at least"
        f" {limits.USED_TURNS_LEAST}; then its places come last",
        f"ends after {limits.IDLE_TURN_SECONDS} s without a request, if others of the network wait",
        "with the next turn",
        "`waiting_room`",
        ("TURNS_AT_A_TIME", "USED_TURNS_PERCENT", "USED_TURNS_LEAST", "IDLE_TURN_SECONDS"),
        one=min(limits.TURNS_AT_A_TIME, share(SEATS) // PER_ORDER),
        unit="turns at a time",
    ),
    Row(
        "orders",
        DAILY,
        f"`ORDERS_PER_CLIENT` ({limits.DEFAULT_ORDERS_PER_CLIENT})",
        "",
        "a day after the first",
        "`too_many_orders`",
        ("DEFAULT_ORDERS_PER_CLIENT",),
        one=limits.DEFAULT_ORDERS_PER_CLIENT,
        unit="orders",
    ),
    Row(
        "free seats of an event",
        DAILY,
        f"`FREE_PER_CLIENT` ({limits.DEFAULT_FREE_PER_CLIENT})",
        "",
        "a day after the first order",
        "`too_many_free`",
        ("DEFAULT_FREE_PER_CLIENT",),
        one=limits.DEFAULT_FREE_PER_CLIENT,
        all=SEATS,
        unit="free seats",
    ),
    Row(
        "names, email addresses and answers of unpaid orders",
        DAILY,
        f"{limits.TEXT_BYTES_OF_CLIENT // 10**6} MB; all clients together"
        f" {limits.TEXT_BYTES_OF_ALL // 10**9} GB",
        "",
        "a day after the first order; then they are erased",
        "`too_much_text`; of all, `texts_unavailable`",
        ("TEXT_BYTES_OF_CLIENT", "TEXT_BYTES_OF_ALL"),
        one=limits.TEXT_BYTES_OF_CLIENT // 10**6,
        all=limits.TEXT_BYTES_OF_ALL // 10**6,
        unit="MB",
    ),
    Row(
        "stored responses",
        DAILY,
        f"4 x `ORDERS_PER_CLIENT`, an order {KEYS_PER_ORDER}",
        "",
        "24 hours after each",
        "`too_many_requests`",
        one=4 * limits.DEFAULT_ORDERS_PER_CLIENT,
        unit="responses of 4 KB at most",
    ),
    Row(
        "addresses that x402 names before an order",
        DAILY,
        f"{limits.NAMED_PER_CLIENT}; of a wallet {limits.NAMED_PER_WALLET:,}. A `GET` names none",
        "",
        "a day after the first",
        "`too_many_addresses`",
        ("NAMED_PER_CLIENT", "NAMED_PER_WALLET"),
        one=limits.NAMED_PER_CLIENT,
        all=limits.NAMED_PER_WALLET,
        unit="addresses",
    ),
    Row(
        "mails to one mailbox for orders that nobody paid",
        DAILY,
        f"{limits.MAILS_OF_CLIENT}; of all clients {limits.MAILS_PER_MAILBOX}",
        "",
        "a day after each",
        "none: the mail waits for a day, then it is dropped",
        ("MAILS_OF_CLIENT", "MAILS_PER_MAILBOX"),
        one=limits.MAILS_OF_CLIENT,
        all=limits.MAILS_PER_MAILBOX,
        unit="mails",
    ),
    Row(
        "mails that people ask for",
        DAILY,
        f"to one mailbox a new password once an hour, lost links in {limits.LINKS_HOURS} hours, one"
        f" place in {limits.PLACE_HOURS}. {limits.LINK_REQUESTS_PER_CLIENT} requests for links, and"
        f" as many for passwords. The mail of one order {limits.SENT_AGAIN_PER_DAY} times",
        "",
        "a day after each",
        "none for a repeat: the page says when it went. `too_many_links`, `too_many_mails`,"
        " `too_many_changes`",
        (
            "RESET_HOURS",
            "LINKS_HOURS",
            "PLACE_HOURS",
            "LINK_REQUESTS_PER_CLIENT",
            "SENT_AGAIN_PER_DAY",
        ),
        one=limits.LINK_REQUESTS_PER_CLIENT,
        unit="requests for links",
    ),
    Row(
        "mailboxes that are reached without a payment",
        DAILY,
        f"{limits.MAILBOXES_PER_CLIENT}",
        "",
        "a day after each",
        "none: the mail waits",
        ("MAILBOXES_PER_CLIENT",),
        one=limits.MAILBOXES_PER_CLIENT,
        unit="mailboxes",
    ),
    Row(
        "offers of one ticket, and addresses for one refund",
        DAILY,
        f"{TRANSFERS_PER_DAY} offers, {REFUND_ADDRESSES_PER_DAY} addresses, with the link",
        "",
        "a day after each",
        "`too_many_transfers`, `too_many_changes`",
    ),
    Row(
        "mails of an organizer",
        DAILY,
        f"`MAILS_PER_TENANT`: {limits.MAILS_PER_SEAT} for each seat sold, and"
        f" {limits.MAILS_WITHOUT_SALES:,}; {limits.MESSAGES_PER_EVENT} messages an event",
        "",
        "a day after each",
        "`too_many_messages`",
        ("MAILS_PER_SEAT", "MAILS_WITHOUT_SALES", "MESSAGES_PER_EVENT"),
    ),
    Row(
        "what apps say of themselves, read for a tenant",
        DAILY,
        f"{limits.DESCRIPTION_SECONDS} s an hour of the worker's time",
        f"a URL is read once in {_minutes(limits.DESCRIPTION_KEPT.total_seconds())}",
        "an hour later",
        "`too_many_descriptions`",
        ("DESCRIPTION_SECONDS", "DESCRIPTION_KEPT"),
    ),
    Row(
        "threads that wait for a node, a facilitator or an upload",
        PROCESS,
        f"one, of {LOOKS_AT_ONCE} in each process: half of its threads",
        "",
        "when the other server answers",
        "`chain_unavailable`, `images_busy`",
        one=1,
        all=LOOKS_AT_ONCE,
        unit="threads",
        of_wide=True,
    ),
    Row(
        "CPU of an organizer's texts and pictures",
        PROCESS,
        f"{limits.DESCRIPTION_STEPS:,} steps of the parser for a description, when it is saved; one"
        " picture is decoded at a time in each process",
        "",
        "at once",
        "`invalid_request`, `images_busy`",
        ("DESCRIPTION_STEPS",),
    ),
    Row(
        "uploads of pictures",
        PROCESS,
        f"one an organizer, {UPLOADS_AT_ONCE} in each process",
        f"at least {UPLOAD_LEAST_BYTES // 1024} KB/s after {UPLOAD_SLOW_AFTER_SECONDS:g} s",
        "when it has come",
        "`overloaded`",
    ),
    Row(
        "deliveries of one webhook that were asked for",
        HELD,
        f"{MAX_WAITING:,} that wait",
        "",
        "when they were sent",
        "`too_many_deliveries`",
    ),
    Row(
        "a crowd: a network that the organizer names",
        HELD,
        f"all limits of orders are what the organizer says, up to `CROWD_MOST`"
        f" ({limits.DEFAULT_CROWD_MOST:,}); {MAX_CROWDS} of an event",
        "",
        "as above",
        "as above",
        ("DEFAULT_CROWD_MOST",),
    ),
)

NOT_SCARCE = {
    *("DEFAULT_EARLY_MOST", "DEFAULT_PERSONAL_DATA_DAYS", "MAX_PERSONAL_DATA_DAYS"),
    *("DEFAULT_NOTIFICATION_DAYS", "MIN_NOTIFICATION_DAYS", "MAX_NOTIFICATION_DAYS"),
    *("DEFAULT_WALLET_CHANGE_HOURS", "MAX_WALLET_CHANGE_HOURS"),
    *("DEFAULT_REFUND_CHANGE_HOURS", "MAX_REFUND_CHANGE_HOURS"),
}
"""Limits of what operators set, which nobody can use up."""

OF_REQUESTS = {"DEFAULT_RATE_LIMITS", "COUNTED_IN_DATABASE", "ORDERS_OF_ADDRESS", "WIDE_FACTOR"}
"""The limits of requests a minute, which have a table of their own."""

_COUNTED = {
    CallClass.PUBLIC: "address | public reads, `/readyz`, pages, files, unknown paths, OPTIONS",
    CallClass.CHECKOUT: "address | checkout without a valid client secret",
    CallClass.ORDER: f"order; its payers together have {limits.WIDE_FACTOR} times as many,"
    f" its address {limits.ORDERS_OF_ADDRESS} times"
    " | checkout with its client secret or its payment link",
    CallClass.PREFLIGHT: "address | preflight without a credential",
    CallClass.TOKEN: "address | sign-in, key exchange, every invalid credential",
    CallClass.LOGIN: "member or invitation, from all addresses | sign-in",
    CallClass.GUESS: "address | wrong codes of vouchers",
    CallClass.ADMIN: "credential | requests on any surface",
    CallClass.RECONCILIATION: "credential | reconciliations",
}


def scarce_things() -> Iterator[str]:
    """Yield the lines of the table of all scarce things."""
    yield "| thing | counted | one client has at most | what shortens it | free again | error |"
    yield "|---|---|---|---|---|---|"
    for row in ROWS:
        cells = (row.thing, row.kind, row.most, row.less, row.again, row.code)
        yield "| " + " | ".join(cells) + " |"


def costs() -> Iterator[str]:
    """Yield the lines of the table of what attackers can have."""
    yield "| thing | there are | " + " | ".join(each.name for each in ATTACKERS) + " |"
    yield "|---" * (2 + len(ATTACKERS)) + "|"
    for row in ROWS:
        if row.one is not None:
            there_are = "" if row.all is None else f"{row.all:,} {row.unit}"
            cells = (_had(row, each) for each in ATTACKERS)
            yield f"| {row.thing} | {there_are} | " + " | ".join(cells) + " |"


def _had(row: Row, attacker: Attacker) -> str:
    had = row.had_by(attacker)
    if had == row.all:
        return "**all**"
    return f"{had:,}" if row.all is not None else f"{had:,} {row.unit}"


def requests() -> Iterator[str]:
    """Yield the lines of the table of requests a minute."""
    yield "| variable | default | for each | counts | counted in |"
    yield "|---|---|---|---|---|"
    for each, limit in DEFAULT_RATE_LIMITS.items():
        where = "database" if each in COUNTED_IN_DATABASE else "each process"
        yield f"| `RATE_LIMIT_{each.upper()}` | {limit} a minute | {_COUNTED[each]} | {where} |"


TABLES = {"scarce things": scarce_things, "costs": costs, "requests": requests}


def written(text: str) -> str:
    """Return the page with the current tables. ValueError if it has no markers for one."""
    for name, lines in TABLES.items():
        begin, end = BEGIN.format(name), END.format(name)
        start, stop = text.index(begin) + len(begin), text.index(end)
        text = f"{text[:start]}\n\n" + "\n".join(lines()) + f"\n\n{text[stop:]}"
    return text


def main() -> None:
    """Write the tables into the page."""
    PAGE.write_text(written(PAGE.read_text()))


if __name__ == "__main__":
    main()
