"""Order limits for a client without a credential: unpaid seats, free seats, orders per day."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from peewee import Case, ColumnBase, ModelSelect, fn

from ticketing import clock
from ticketing.config import Config
from ticketing.constants import UNPAID_SHARE_PERCENT, IntentStatus
from ticketing.errors import (
    ReturnedUnpaid,
    TooManyFree,
    TooManyHolds,
    TooManyOrders,
    TooMuchText,
    TooMuchUnpaid,
)
from ticketing.limits import (
    LONGER_HOLDS,
    RETURNED_FIRST_WAIT,
    RETURNED_MOST_DOUBLINGS,
    TEXT_BYTES_OF_CLIENT,
    WIDE_FACTOR,
)
from ticketing.models.base import UtcDateTimeField
from ticketing.models.payment_intents import AWAITING, PaymentIntent
from ticketing.models.prepared import Prepared
from ticketing.services import daily_counts
from ticketing.services.daily_counts import DAY, seconds_until
from ticketing.services.orders import lines
from ticketing.services.orders.holds import Held

_PAID = (IntentStatus.PROCESSING, IntentStatus.CONFIRMED, IntentStatus.REVERSED)

_ENDED_UNPAID = PaymentIntent.status.in_([IntentStatus.EXPIRED, IntentStatus.CANCELED]) & (
    PaymentIntent.books_version == 0
)

_instant: Callable[[Any], Any] = UtcDateTimeField().python_value


def _of_networks(
    counted: Callable[[Any], ModelSelect[PaymentIntent]],
) -> tuple[Prepared[PaymentIntent], ...]:
    """Return the query that counts the orders of the last day for each network of a client.

    `counted` selects the sums, for an event.
    """

    def of_network(column: ColumnBase) -> Prepared[PaymentIntent]:
        def query(client: Any, event_id: Any, since: Any) -> ModelSelect[PaymentIntent]:
            return counted(event_id).where(column == client, PaymentIntent.created_at > since)

        return Prepared(query)

    return of_network(PaymentIntent.held_by), of_network(PaymentIntent.held_by_site)


def _all_orders(event_id: Any) -> ModelSelect[PaymentIntent]:
    counts = (PaymentIntent.event == event_id) & PaymentIntent.status.in_(
        [IntentStatus.AWAITING_PAYMENT, IntentStatus.CONFIRMED]
    )
    here = PaymentIntent.event == event_id
    unpaid_here = here & AWAITING
    is_unpaid = PaymentIntent.books_version == 0
    paid = here & (PaymentIntent.amount > 0) & PaymentIntent.status.in_(_PAID)
    return PaymentIntent.select(
        fn.COUNT(PaymentIntent.id).alias("orders"),
        fn.MIN(PaymentIntent.created_at).alias("first_at"),
        fn.SUM(Case(None, [(AWAITING, PaymentIntent.quantity)], 0)).alias("unpaid"),
        fn.MIN(Case(None, [(AWAITING, PaymentIntent.hold_until)], None)).alias("next_end"),
        fn.SUM(Case(None, [(counts, PaymentIntent.free_seats)], 0)).alias("free"),
        fn.SUM(Case(None, [(unpaid_here, PaymentIntent.quantity)], 0)).alias("unpaid_here"),
        fn.MIN(Case(None, [(unpaid_here, PaymentIntent.hold_until)], None)).alias("next_here"),
        fn.SUM(Case(None, [(_ENDED_UNPAID, 1)], 0)).alias("ended_unpaid"),
        fn.SUM(Case(None, [(paid, 1)], 0)).alias("paid_here"),
        fn.SUM(Case(None, [(is_unpaid, PaymentIntent.stored_bytes)], 0)).alias("text_bytes"),
    )


def _held_longer(event_id: Any) -> ModelSelect[PaymentIntent]:
    # By the status, because dust for an order costs little.
    unpaid = PaymentIntent.hold_extended & PaymentIntent.status.not_in(_PAID)
    held_here = (PaymentIntent.event == event_id) & AWAITING
    return PaymentIntent.select(
        fn.COUNT(PaymentIntent.id),
        fn.MIN(PaymentIntent.created_at),
        fn.SUM(Case(None, [(held_here, PaymentIntent.quantity)], 0)),
        fn.MIN(Case(None, [(held_here, PaymentIntent.hold_until)], None)),
    ).where(unpaid)


def _resales_unpaid(event_id: Any) -> ModelSelect[PaymentIntent]:
    # Of all events. Of a free order only this is known: when it was held until.
    ended_at = fn.COALESCE(PaymentIntent.ended_at, PaymentIntent.hold_until)
    sums = (fn.COUNT(PaymentIntent.id), fn.MAX(ended_at))
    return PaymentIntent.select(*sums).where(PaymentIntent.resale, _ENDED_UNPAID)


_ALL_ORDERS = _of_networks(_all_orders)
_HELD_LONGER = _of_networks(_held_longer)
_RESALES_UNPAID = _of_networks(_resales_unpaid)


def _counts(
    queries: Sequence[Prepared[PaymentIntent]], client: Sequence[str], event_id: str
) -> Iterator[tuple[int, Sequence[Any]]]:
    """Yield what each network of a client has, with how many times the limits that it has."""
    since = clock.now() - DAY
    for place, (network, query) in enumerate(zip(client, queries, strict=False)):
        (row,) = query.tuples(client=network, event_id=event_id, since=since)
        yield WIDE_FACTOR**place, row


@dataclass(frozen=True)
class Use:
    """What one network of a client had of an event in the last day.

    `unpaid`: seats that are held unpaid, until `next_end` at the earliest. `ended_unpaid`: orders,
    of all events. `has_paid`: an order of this event was paid. `factor`: how many times the limits
    of one address the network has.
    """

    unpaid: int
    next_end: datetime | None
    ended_unpaid: int
    has_paid: bool
    factor: int


def check(
    client: Sequence[str],
    event_id: str,
    quantity: int,
    free_seats: int,
    config: Config,
    *,
    text_bytes: int = 0,
    crowd_seats: int = 0,
) -> Sequence[Use]:
    """Check a client's limits, with this order of `quantity` seats included.

    `free_seats` is how many of them cost nothing. `text_bytes` is how much text the order stores.
    `crowd_seats`: the client is a crowd that may order so many seats of the event. What is less for
    every client does not apply to it, and so it has no share.

    `client`: digests of its networks, from narrow to wide. The wider one has WIDE_FACTOR times the
    limits. A single order may exceed the limit of unpaid seats. Call it in the transaction of the
    order, after `take_turn`. Return what `check_share` needs. TooMuchUnpaid, TooManyOrders,
    TooMuchText, TooManyFree.

    Example, with a limit of 10 unpaid seats: a client whose orders hold 8 may order 2 more, not 3.
    All clients of its IPv6 /48 together may hold 30. A client that holds none may order 12.
    """
    limits = _limits(config)
    if crowd_seats:
        limits = tuple(limit and max(limit, crowd_seats) for limit in limits)
    uses: list[Use] = []
    if not any(limits):
        return uses
    for factor, used in _counts(_ALL_ORDERS, client, event_id):
        orders, first, unpaid, next_end, free, here, next_here, ended, paid, texts = used
        if config.unpaid_per_address and not crowd_seats:
            uses.append(Use(here or 0, _instant(next_here), ended or 0, bool(paid), factor))
        unpaid_most, orders_most, free_most = (limit * factor or math.inf for limit in limits)
        day_ends = (_instant(first) or clock.now()) + DAY
        check_held(unpaid, quantity, unpaid_most, next_end)
        if orders >= orders_most:
            raise TooManyOrders(retry_after=seconds_until(day_ends))
        if text_bytes and (texts or 0) + text_bytes > TEXT_BYTES_OF_CLIENT * factor:
            raise TooMuchText(retry_after=seconds_until(day_ends))
        if free_seats and (free or 0) + free_seats > free_most:
            raise TooManyFree(retry_after=seconds_until(day_ends))
    return uses


def check_held(held: int | None, wanted: int, most: float, next_end: datetime | str | None) -> None:
    """Check that a network may hold more of something scarce without paying. TooMuchUnpaid.

    Who holds nothing of it may always have one order. `next_end`: when the first hold of the
    network ends, as the database returns it. Call it under the client's lock (`take_turn`), in the
    transaction that holds what is wanted.

    Example: of at most 10, a network holds 8. It may have 2 more, not 3. Without the 8, it may
    have 12.
    """
    if held and held + wanted > most:
        raise TooMuchUnpaid(retry_after=seconds_until(_instant(next_end) or clock.now()))


def take_turn(client: Sequence[str], config: Config) -> None:
    """Let other orders of a client wait until the transaction ends. Call it before other locks.

    Nothing happens without limits, or without a client.
    """
    if any(_limits(config)):
        daily_counts.take_turn("orders", client)


def check_extension(intent: PaymentIntent, max_per_order: int, config: Config) -> None:
    """Check how much a client holds longer, unpaid. Call it after `take_turn`.

    At a time, a network may have `max_per_order` seats of an event. In a day, LONGER_HOLDS orders
    of any event that were not paid, also if they ended. TooMuchUnpaid, TooManyHolds.

    Example, with at most 10 in an order: orders of 6 and 4 seats are held longer. The next one
    cannot be, even after these have expired, until the first is a day old.
    """
    if not config.unpaid_per_address:
        return
    counts = _counts(_HELD_LONGER, intent.held_by_networks, intent.event_id)
    for factor, (orders, first, held, next_end) in counts:
        check_held(held, intent.quantity, factor * max_per_order, next_end)
        if orders >= factor * LONGER_HOLDS:
            raise TooManyHolds(retry_after=seconds_until(_instant(first) + DAY))


def check_returned(client: Sequence[str], event_id: str) -> None:
    """Check that a client paid for the returned seats that it ordered in the last day.

    After an order of such seats ended unpaid, the client gets none for a while, which doubles with
    each. A wide network may have WIDE_FACTOR times as many before it. ReturnedUnpaid.

    Example: two orders ended unpaid, the last one at 12:00. The next is possible at 12:10.
    """
    for factor, (ended, last) in _counts(_RESALES_UNPAID, client, event_id):
        counted = ended // factor
        if counted:
            doublings = min(counted - 1, RETURNED_MOST_DOUBLINGS)
            free_at = _instant(last) + RETURNED_FIRST_WAIT * 2**doublings
            if free_at > clock.now():
                raise ReturnedUnpaid(retry_after=seconds_until(free_at))


def _limits(config: Config) -> tuple[int, ...]:
    return config.unpaid_per_address, config.orders_per_client, config.free_per_client


def check_share(uses: Sequence[Use], held: Held) -> None:
    """Check a client's share of an event's unsold seats, with what this order holds now.

    Each ticket type has a share of its own, and so has a voucher with more than one usage. It is
    `max_per_order` or UNPAID_SHARE_PERCENT of what is unsold, if that is more. While more than half
    of that is held by others, each order of the client that ended unpaid halves it, unless the
    client has paid for an order of this event. A client that holds nothing may always make one
    order. TooMuchUnpaid.

    Example: of 1,000 seats, a client holds 50 unpaid. Two of its orders expired. While 501 seats
    are held, its share is 12: it may make one order of 10, and then none until that one ends.
    """
    # What is unpaid is of all ticket types, so all seats of this order count beside it, too.
    seats = lines.seats(held.lines)
    for line in held.lines:
        unsold = held.unsold(line)
        if unsold is not None:
            most = line.ticket_type.max_per_order
            _check_share_of(unsold, most, seats, uses, is_scarce=held.is_under_pressure(line))
    voucher = held.lines[0].voucher
    if voucher is not None and voucher.max_usages > 1:
        left = voucher.max_usages - voucher.redeemed
        of_others = voucher.held - lines.voucher_usages(held.lines)
        _check_share_of(left, held.max_per_order, seats, uses, is_scarce=2 * of_others > left)


def _check_share_of(
    unsold: int, most_per_order: int, seats: int, uses: Sequence[Use], *, is_scarce: bool
) -> None:
    share = max(most_per_order, unsold * UNPAID_SHARE_PERCENT // 100)
    for use in uses:
        most = use.factor * share
        if is_scarce and not use.has_paid:
            most >>= use.ended_unpaid
        check_held(use.unpaid, seats, most, use.next_end)
