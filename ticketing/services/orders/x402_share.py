"""Limit the seats that unpaid x402 orders hold: they are made without a person."""

from __future__ import annotations

from typing import Any

from peewee import SQL, ModelSelect, fn

from ticketing.constants import X402_SHARE
from ticketing.errors import X402ShareHeld
from ticketing.models.payment_intents import AWAITING, PaymentIntent
from ticketing.models.prepared import Prepared
from ticketing.services.orders.offers import Held

# SQLite uses the partial index only with its own condition.
_BY_X402 = PaymentIntent.x402 == SQL("TRUE")


@Prepared
def _unpaid(ticket_type_id: Any) -> ModelSelect[PaymentIntent]:
    return PaymentIntent.select(fn.SUM(PaymentIntent.quantity)).where(
        PaymentIntent.ticket_type == ticket_type_id, _BY_X402, AWAITING
    )


def check(held: Held, quantity: int) -> None:
    """Check the share of a ticket type, whose row is locked, with these `quantity`. X402ShareHeld.

    At least one seat is allowed. Without a capacity, of the ticket type or the event, all are.

    Example: a ticket type has 200 seats, its event 100. Unpaid x402 orders may hold 10 of them.
    """
    capacities = [held.ticket_type.capacity]
    if held.event_stock is not None:
        capacities.append(held.event_stock.capacity)
    limits = [each for each in capacities if each is not None]
    if not limits:
        return
    ((unpaid,),) = _unpaid.tuples(ticket_type_id=held.ticket_type.id)
    if (unpaid or 0) + quantity > max(1, min(limits) // X402_SHARE):
        raise X402ShareHeld
