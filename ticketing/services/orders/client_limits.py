"""Order limits for a client without a credential: unpaid seats, free seats, orders per day."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from peewee import Case, ModelSelect, fn

from ticketing import clock
from ticketing.config import Config
from ticketing.constants import IntentStatus
from ticketing.db.connection import one_at_a_time
from ticketing.errors import TooManyFree, TooManyOrders, TooMuchUnpaid
from ticketing.limits import WIDE_FACTOR
from ticketing.models.base import UtcDateTimeField
from ticketing.models.payment_intents import AWAITING, PaymentIntent
from ticketing.models.prepared import Prepared

DAY = timedelta(days=1)

_instant: Callable[[Any], Any] = UtcDateTimeField().python_value


def _used(event_id: Any) -> ModelSelect[PaymentIntent]:
    free = (
        (PaymentIntent.event == event_id)
        & (PaymentIntent.amount == 0)
        & PaymentIntent.status.in_([IntentStatus.AWAITING_PAYMENT, IntentStatus.CONFIRMED])
    )
    return PaymentIntent.select(
        fn.COUNT(PaymentIntent.id).alias("orders"),
        fn.MIN(PaymentIntent.created_at).alias("first_at"),
        fn.SUM(Case(None, [(AWAITING, PaymentIntent.quantity)], 0)).alias("unpaid"),
        fn.MIN(Case(None, [(AWAITING, PaymentIntent.hold_until)], None)).alias("next_end"),
        fn.SUM(Case(None, [(free, PaymentIntent.quantity)], 0)).alias("free"),
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


def check(
    client: Sequence[str], event_id: str, quantity: int, config: Config, *, is_free: bool
) -> None:
    """Check a client's limits, with this order of `quantity` seats included.

    `client`: digests of its networks, from narrow to wide. The wider one has WIDE_FACTOR times the
    limits. A single order may exceed the limit of unpaid seats. Call it in the transaction of the
    order. TooMuchUnpaid, TooManyOrders, TooManyFree.

    Example, with a limit of 10 unpaid seats: a client whose orders hold 8 may order 2 more, not 3.
    All clients of its IPv6 /48 together may hold 30. A client that holds none may order 12.
    """
    limits = config.unpaid_per_address, config.orders_per_client, config.free_per_client
    if not any(limits):
        return
    one_at_a_time(f"orders of {client[-1]}")
    now = clock.now()
    for place, (network, query) in enumerate(zip(client, _QUERIES, strict=False)):
        (used,) = query.tuples(client=network, event_id=event_id, since=now - DAY)
        orders, first, unpaid, next_end, free = used
        unpaid_most, orders_most, free_most = (
            limit * WIDE_FACTOR**place or math.inf for limit in limits
        )
        day_ends = (_instant(first) or now) + DAY
        if unpaid and unpaid + quantity > unpaid_most:
            raise TooMuchUnpaid(retry_after=_seconds(_instant(next_end) - now))
        if orders >= orders_most:
            raise TooManyOrders(retry_after=_seconds(day_ends - now))
        if is_free and (free or 0) + quantity > free_most:
            raise TooManyFree(retry_after=_seconds(day_ends - now))


def _seconds(wait: timedelta) -> int:
    return max(1, math.ceil(wait.total_seconds()))
