"""Order limits for a client without a credential: unpaid seats, free seats, orders per day."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from peewee import Case, ModelSelect, fn

from ticketing import clock
from ticketing.config import Config
from ticketing.constants import UNPAID_SHARE_PERCENT, IntentStatus
from ticketing.errors import ReturnedUnpaid, TooManyFree, TooManyOrders, TooMuchUnpaid
from ticketing.limits import RETURNED_FIRST_WAIT, RETURNED_MOST_DOUBLINGS, WIDE_FACTOR
from ticketing.models.base import UtcDateTimeField
from ticketing.models.payment_intents import AWAITING, PaymentIntent
from ticketing.models.prepared import Prepared
from ticketing.services import daily_counts
from ticketing.services.daily_counts import DAY
from ticketing.services.orders import lines
from ticketing.services.orders.holds import Held

_PAID = (IntentStatus.PROCESSING, IntentStatus.CONFIRMED, IntentStatus.REVERSED)

_ENDED_UNPAID = PaymentIntent.status.in_([IntentStatus.EXPIRED, IntentStatus.CANCELED]) & (
    PaymentIntent.amount_received == 0
)

_instant: Callable[[Any], Any] = UtcDateTimeField().python_value


def _used(event_id: Any) -> ModelSelect[PaymentIntent]:
    if_free = Case(None, [(PaymentIntent.amount == 0, PaymentIntent.quantity)], 0)
    free_seats = fn.COALESCE(PaymentIntent.free_seats, if_free)
    counts = (PaymentIntent.event == event_id) & PaymentIntent.status.in_(
        [IntentStatus.AWAITING_PAYMENT, IntentStatus.CONFIRMED]
    )
    here = PaymentIntent.event == event_id
    unpaid_here = here & AWAITING
    paid = here & (PaymentIntent.amount > 0) & PaymentIntent.status.in_(_PAID)
    return PaymentIntent.select(
        fn.COUNT(PaymentIntent.id).alias("orders"),
        fn.MIN(PaymentIntent.created_at).alias("first_at"),
        fn.SUM(Case(None, [(AWAITING, PaymentIntent.quantity)], 0)).alias("unpaid"),
        fn.MIN(Case(None, [(AWAITING, PaymentIntent.hold_until)], None)).alias("next_end"),
        fn.SUM(Case(None, [(counts, free_seats)], 0)).alias("free"),
        fn.SUM(Case(None, [(unpaid_here, PaymentIntent.quantity)], 0)).alias("unpaid_here"),
        fn.MIN(Case(None, [(unpaid_here, PaymentIntent.hold_until)], None)).alias("next_here"),
        fn.SUM(Case(None, [(_ENDED_UNPAID, 1)], 0)).alias("ended_unpaid"),
        fn.SUM(Case(None, [(paid, 1)], 0)).alias("paid_here"),
    )


@Prepared
def _used_by(client: Any, event_id: Any, since: Any) -> ModelSelect[PaymentIntent]:
    return _used(event_id).where(PaymentIntent.held_by == client, PaymentIntent.created_at > since)


@Prepared
def _used_by_site(client: Any, event_id: Any, since: Any) -> ModelSelect[PaymentIntent]:
    return _used(event_id).where(
        PaymentIntent.held_by_site == client, PaymentIntent.created_at > since
    )


_QUERIES: tuple[Prepared[PaymentIntent], ...] = (_used_by, _used_by_site)


def _extended_unpaid() -> ModelSelect[PaymentIntent]:
    # By the status, because dust for an order costs little.
    unpaid = PaymentIntent.hold_extended & PaymentIntent.status.not_in(_PAID)
    sums = (fn.SUM(PaymentIntent.quantity), fn.MIN(PaymentIntent.created_at))
    return PaymentIntent.select(*sums).where(unpaid)


@Prepared
def _extended_by(client: Any, since: Any) -> ModelSelect[PaymentIntent]:
    return _extended_unpaid().where(
        PaymentIntent.held_by == client, PaymentIntent.created_at > since
    )


@Prepared
def _extended_by_site(client: Any, since: Any) -> ModelSelect[PaymentIntent]:
    return _extended_unpaid().where(
        PaymentIntent.held_by_site == client, PaymentIntent.created_at > since
    )


_EXTENDED: tuple[Prepared[PaymentIntent], ...] = (_extended_by, _extended_by_site)


def _resales_unpaid() -> ModelSelect[PaymentIntent]:
    # Of a free order only this is known: when it was held until.
    ended_at = fn.COALESCE(PaymentIntent.ended_at, PaymentIntent.hold_until)
    sums = (fn.COUNT(PaymentIntent.id), fn.MAX(ended_at))
    return PaymentIntent.select(*sums).where(PaymentIntent.resale, _ENDED_UNPAID)


@Prepared
def _resales_by(client: Any, since: Any) -> ModelSelect[PaymentIntent]:
    return _resales_unpaid().where(
        PaymentIntent.held_by == client, PaymentIntent.created_at > since
    )


@Prepared
def _resales_by_site(client: Any, since: Any) -> ModelSelect[PaymentIntent]:
    return _resales_unpaid().where(
        PaymentIntent.held_by_site == client, PaymentIntent.created_at > since
    )


_RESALES: tuple[Prepared[PaymentIntent], ...] = (_resales_by, _resales_by_site)


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
    client: Sequence[str], event_id: str, quantity: int, free_seats: int, config: Config
) -> Sequence[Use]:
    """Check a client's limits, with this order of `quantity` seats included.

    `free_seats` is how many of them cost nothing.

    `client`: digests of its networks, from narrow to wide. The wider one has WIDE_FACTOR times the
    limits. A single order may exceed the limit of unpaid seats. Call it in the transaction of the
    order, after `take_turn`. Return what `check_share` needs. TooMuchUnpaid, TooManyOrders,
    TooManyFree.

    Example, with a limit of 10 unpaid seats: a client whose orders hold 8 may order 2 more, not 3.
    All clients of its IPv6 /48 together may hold 30. A client that holds none may order 12.
    """
    limits = _limits(config)
    uses: list[Use] = []
    if not any(limits):
        return uses
    now = clock.now()
    for place, (network, query) in enumerate(zip(client, _QUERIES, strict=False)):
        (used,) = query.tuples(client=network, event_id=event_id, since=now - DAY)
        orders, first, unpaid, next_end, free, here, next_here, ended, paid = used
        factor = WIDE_FACTOR**place
        if config.unpaid_per_address:
            uses.append(Use(here or 0, _instant(next_here), ended or 0, bool(paid), factor))
        unpaid_most, orders_most, free_most = (limit * factor or math.inf for limit in limits)
        day_ends = (_instant(first) or now) + DAY
        if unpaid and unpaid + quantity > unpaid_most:
            raise TooMuchUnpaid(retry_after=_seconds(_instant(next_end) - now))
        if orders >= orders_most:
            raise TooManyOrders(retry_after=_seconds(day_ends - now))
        if free_seats and (free or 0) + free_seats > free_most:
            raise TooManyFree(retry_after=_seconds(day_ends - now))
    return uses


def take_turn(client: Sequence[str], config: Config) -> None:
    """Let other orders of a client wait until the transaction ends. Call it before other locks.

    Nothing happens without limits, or without a client.
    """
    if any(_limits(config)):
        daily_counts.take_turn("orders", client)


def check_extension(intent: PaymentIntent, config: Config) -> None:
    """Check how many seats a client holds longer. Call it after `take_turn`. TooMuchUnpaid.

    In a day, each network may have as many seats in extended orders that were not paid as it may
    hold unpaid at once. A single order may have more.

    Example, with a limit of 10: two orders of 4 seats were extended, and expired unpaid. A third
    one of 4 cannot be extended until the first is a day old.
    """
    most, now = config.unpaid_per_address, clock.now()
    if not most:
        return
    for place, (network, query) in enumerate(zip(intent.held_by_networks, _EXTENDED, strict=False)):
        ((extended, first),) = query.tuples(client=network, since=now - DAY)
        if extended and extended + intent.quantity > most * WIDE_FACTOR**place:
            raise TooMuchUnpaid(retry_after=_seconds(_instant(first) + DAY - now))


def check_returned(client: Sequence[str]) -> None:
    """Check that a client paid for the returned seats that it ordered in the last day.

    After an order of such seats ended unpaid, the client gets none for a while, which doubles with
    each. A wide network may have WIDE_FACTOR times as many before it. ReturnedUnpaid.

    Example: two orders ended unpaid, the last one at 12:00. The next is possible at 12:10.
    """
    now = clock.now()
    for place, (network, query) in enumerate(zip(client, _RESALES, strict=False)):
        ((ended, last),) = query.tuples(client=network, since=now - DAY)
        counted = ended // WIDE_FACTOR**place
        if counted:
            doublings = min(counted - 1, RETURNED_MOST_DOUBLINGS)
            left = _instant(last) + RETURNED_FIRST_WAIT * 2**doublings - now
            if left > timedelta():
                raise ReturnedUnpaid(retry_after=_seconds(left))


def _limits(config: Config) -> tuple[int, int, int]:
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
        most = max(line.ticket_type.max_per_order for line in held.lines)
        _check_share_of(left, most, seats, uses, is_scarce=2 * of_others > left)


def _check_share_of(
    unsold: int, most_per_order: int, seats: int, uses: Sequence[Use], *, is_scarce: bool
) -> None:
    share = max(most_per_order, unsold * UNPAID_SHARE_PERCENT // 100)
    for use in uses:
        most = use.factor * share
        if is_scarce and not use.has_paid:
            most >>= use.ended_unpaid
        if use.unpaid and use.unpaid + seats > most:
            next_end = use.next_end or clock.now()
            raise TooMuchUnpaid(retry_after=_seconds(next_end - clock.now()))


def _seconds(wait: timedelta) -> int:
    return max(1, math.ceil(wait.total_seconds()))
