"""Who an order is billed to: its buyer says it for the receipt, until some time after the event."""

from __future__ import annotations

from peewee import ModelSelect

from ticketing import clock
from ticketing.constants import BILLING_AFTER_EVENT
from ticketing.db.connection import locked, write_transaction
from ticketing.errors import BillingClosed
from ticketing.models.billing import Billing
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services.orders import intents


def write(
    tenant_reference: str,
    intent_id: str,
    *,
    name: str | None,
    address: str | None,
    tax_id: str | None,
) -> Billing:
    """Replace what the receipt of an order says of its buyer. None: it does not say that.

    NotFound. BillingClosed.
    """
    intent = intents.get(tenant_reference, intent_id)
    if not is_open(intent):
        raise BillingClosed
    columns = {"name": name, "address": address, "tax_id": tax_id}
    made = Billing(intent=intent.id, **columns, changed_at=clock.now())
    with write_transaction():
        list(locked(_row_of(intent)))
        if not any(columns.values()):
            Billing.delete().where(Billing.intent == intent.id).execute()
        elif made.save(only=[*columns, "changed_at"]) == 0:
            made.save(force_insert=True)
    return made


def is_open(intent: PaymentIntent) -> bool:
    """Return whether the buyer of an order that was read with its event may still write it."""
    return bool(clock.now() <= intent.event.over_at + BILLING_AFTER_EVENT)


def of(intent_id: str) -> Billing | None:
    """Return what the buyer of an order wrote. None: nothing."""
    found: Billing | None = Billing.get_or_none(Billing.intent == intent_id)
    return found


def _row_of(intent: PaymentIntent) -> ModelSelect[PaymentIntent]:
    return PaymentIntent.select(PaymentIntent.id).where(PaymentIntent.id == intent.id)
