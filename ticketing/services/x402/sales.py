"""What x402 clients get: an order that is paid, or whose payment is on its way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from peewee import Expression

from ticketing import credentials
from ticketing.config import Config
from ticketing.constants import IntentStatus
from ticketing.errors import ChainUnavailable, IntentReversed, OrderEnded
from ticketing.models.events import Event
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.tenants import Tenant
from ticketing.services import admission_views, checkout
from ticketing.services.orders import intents
from ticketing.services.x402 import claims, requirements

_SECONDS_PER_BLOCK, _SOONEST, _LATEST = 2, 2, 60


@dataclass(frozen=True)
class Sale:
    """An order with what its buyer may see. `receipt` is the content of PAYMENT-RESPONSE.

    While nothing is final, there is no receipt, but a `retry_after` in seconds.
    """

    intent: PaymentIntent
    receipt: dict[str, Any] | None = None
    retry_after: int | None = None


def order_at(tenant: Tenant, address: str) -> PaymentIntent | None:
    """Return the tenant's order with this payment address. None if there is none."""
    return _first((PaymentIntent.tenant == tenant.id) & (PaymentIntent.address == address))


def order_of_key(tenant: Tenant, digests: Sequence[str]) -> PaymentIntent | None:
    """Return the tenant's order with one of these digests of an Idempotency-Key. None: no order."""
    if not digests:
        return None
    of_key = PaymentIntent.idempotency_digest.in_(list(digests))
    return _first((PaymentIntent.tenant == tenant.id) & of_key)


def order(intent_id: str) -> PaymentIntent:
    """Return an order, which exists, with its tenant and event."""
    found = _first(PaymentIntent.id == intent_id)
    if found is None:
        raise LookupError(intent_id)
    return found


def _first(condition: Expression) -> PaymentIntent | None:
    query = PaymentIntent.select(PaymentIntent, Tenant, Event).where(condition)
    found: PaymentIntent | None = query.join(Tenant).switch(PaymentIntent).join(Event).first()
    return found


def look(intent: PaymentIntent, config: Config) -> tuple[PaymentIntent, bool]:
    """Return an order as the chain now is, and whether the chain could be read."""
    try:
        checkout.settle_now(intent, config)
    except ChainUnavailable:
        return order(intent.id), False
    return order(intent.id), True


def present(intent: PaymentIntent, config: Config, payer: str | None = None) -> Sale | None:
    """Return the sale of an order, None if it waits for a payment that is not on its way.

    `payer`: whose transfer the receipt names, if there are several. OrderEnded. IntentReversed.
    """
    intents.add_payment_details([intent])
    intent.client_secret = credentials.client_secret(
        config.keyring.current, intent.id, intent.link_generation
    )
    if intent.status == IntentStatus.CONFIRMED:
        admission_views.add_to_order(intent, intent.event.online_join_url, config.keyring)
        return Sale(intent, receipt=_receipt(intent, payer))
    if intent.status == IntentStatus.PROCESSING or claims.is_settling(intent.id):
        intent.admissions, intent.online_join_url = [], None
        return Sale(intent, retry_after=_retry_after(intent))
    if intent.status == IntentStatus.REVERSED:
        raise IntentReversed(intent=intent)
    if intent.status != IntentStatus.AWAITING_PAYMENT:
        raise OrderEnded(intent=intent)
    return None


def _receipt(intent: PaymentIntent, payer: str | None) -> dict[str, Any] | None:
    """Return what the chain says about the payment of an order. None for a free order."""
    largest = intents.largest_payments_of(intent)
    found = [each for each in largest if each.canonical and each.account_id == intent.home.id]
    paid = [each for each in found if each.sender == payer] or found
    if not paid:
        return None
    return {
        "success": True,
        "transaction": paid[0].tx_hash,
        "network": requirements.network(intent.terms.chain_id),
        "payer": paid[0].sender,
    }


def _retry_after(intent: PaymentIntent) -> int:
    """Return after how many seconds the order may be confirmed: early, or when it is final.

    Example: Polygon needs 64 blocks, or 16 to be early. With 4 blocks, the 12 missing ones take
    about 24 seconds. With 16 blocks it was not confirmed early: 48 are missing, for 60 seconds.
    """
    needed, early = intent.home.required_confirmations, intent.home.early_confirmations
    if early is not None and intent.confirmations < early:
        needed = early
    missing = needed - intent.confirmations
    return min(max(missing * _SECONDS_PER_BLOCK, _SOONEST), _LATEST)
