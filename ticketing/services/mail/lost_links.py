"""People who lost the links of their orders get them by mail, at the address of these orders."""

from __future__ import annotations

from datetime import timedelta

from peewee import fn

from ticketing import clock
from ticketing.constants import LIVE, OVER_AFTER_START, SOLD
from ticketing.models.events import Event
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.tenants import Tenant

MOST_LINKS = 10
AFTER_EVENT = timedelta(days=7)
"""For how long after its event the link of an order is sent."""


def orders_of(tenant_id: str, email: str) -> list[PaymentIntent]:
    """Return the newest orders of an address with their events, without those that ended unpaid."""
    over = clock.now() - AFTER_EVENT
    is_recent = (Event.end_at > over) | (
        Event.end_at.is_null() & (Event.start_at > over - OVER_AFTER_START)
    )
    is_useful = (
        PaymentIntent.status.in_([*LIVE, *SOLD])
        | (PaymentIntent.amount_received > 0)
        | (PaymentIntent.strays_version > 0)
    )
    found = (
        PaymentIntent.select(PaymentIntent, Event, Tenant)
        .join_from(PaymentIntent, Event)
        .join_from(PaymentIntent, Tenant)
        .where(
            PaymentIntent.tenant == tenant_id,
            fn.LOWER(PaymentIntent.buyer_email) == email.lower(),
            PaymentIntent.buyer_email.is_null(False),
            is_recent,
            is_useful,
        )
    )
    return list(found.order_by(PaymentIntent.id.desc()).limit(MOST_LINKS))
