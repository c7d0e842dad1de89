"""How orders of x402 clients are held: a short time, and only a share of the seats."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from peewee import SQL, ModelSelect, fn

from ticketing.models.items import IntentItem
from ticketing.models.payment_intents import AWAITING, PaymentIntent
from ticketing.models.prepared import Prepared
from ticketing.services.checkout import Channel
from ticketing.services.orders.holds import Held
from ticketing.services.x402.errors import X402ShareHeld

HOLD = timedelta(minutes=5)
"""The longest hold of an order that an x402 client makes."""

SHARE = 10
"""Unpaid x402 orders hold at most one of so many seats of a ticket type."""

# SQLite uses the partial index only with its own condition.
_BY_X402 = PaymentIntent.x402 == SQL("TRUE")


@Prepared
def _unpaid(ticket_type_id: Any) -> ModelSelect[PaymentIntent]:
    of_carts = (
        IntentItem.select(fn.SUM(IntentItem.quantity))
        .join(PaymentIntent)
        .where(IntentItem.ticket_type == ticket_type_id, _BY_X402, AWAITING)
    )
    return PaymentIntent.select(fn.SUM(PaymentIntent.quantity), of_carts).where(
        PaymentIntent.ticket_type == ticket_type_id, _BY_X402, AWAITING, ~PaymentIntent.has_items
    )


def check(held: Held) -> None:
    """Check the share of each ticket type, whose row is locked, with this order. X402ShareHeld.

    At least one seat is allowed. Without a capacity, of the ticket type or the event, all are.

    Example: a ticket type has 200 seats, its event 100. Unpaid x402 orders may hold 10 of them.
    """
    for line in held.lines:
        limits = held.capacities(line)
        if limits:
            (unpaid,) = _unpaid.tuples(ticket_type_id=line.ticket_type.id)
            if sum(each or 0 for each in unpaid) + line.quantity > max(1, min(limits) // SHARE):
                raise X402ShareHeld


def channel(idempotency_digest: str | None, body_digest: str) -> Channel:
    """Return the channel of an x402 order. The digests are those of its Idempotency-Key and body.

    `idempotency_digest` is None without a key.
    """
    marks = {
        "x402": True,
        "idempotency_digest": idempotency_digest,
        "body_digest": body_digest,
    }
    return Channel(longest_hold=HOLD, check=check, marks=marks)
