"""The second request of an x402 client: a signed payment. The checks come in a fixed order."""

from __future__ import annotations

from collections.abc import Sequence

from ticketing.chain.registry import Chain
from ticketing.config import Config
from ticketing.constants import IntentStatus
from ticketing.credentials import Keyring
from ticketing.errors import IdempotencyKeyReused, InvalidPayment, OrderEnded
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.tenants import Tenant
from ticketing.services.x402 import (
    claims,
    order_claim,
    ordering,
    price_claims,
    pricing,
    requirements,
    sales,
    share,
    submitting,
    transfer_checks,
)
from ticketing.services.x402.asked import Asked
from ticketing.services.x402.payment_header import Payment
from ticketing.services.x402.requirements import Way
from ticketing.services.x402.sales import Sale

_CHANGED = "The order changed while this payment was checked. Nothing was paid."


def pay(
    tenant: Tenant, asked: Asked, payment: Payment, digests: Sequence[str], config: Config
) -> Sale:
    """Settle a payment once, and return the order as the chain then is.

    If it is for a price that was named, the order is made now (pricing.py). `digests`: of the
    Idempotency-Key, one for each SECRET_KEY, the current one first.

    InvalidPayment for no order of this path, or without its claim. IdempotencyKeyReused for one
    with another body. X402PaymentRequired with what to sign instead. OrderEnded, IntentReversed,
    X402CallsUsed, X402NotEnabled, NetworkUnavailable, ChainUnavailable.
    """
    address = payment.authorization.recipient
    intent = sales.order_at(tenant, address)
    if intent is None and sales.order_of_key(tenant, digests) is None:
        intent = pricing.order_for(tenant, asked, payment, digests, config)
    if intent is None or intent.address != address:
        known = ordering.of_key(tenant, asked, digests, config)
        if known is None:
            raise InvalidPayment
        return known  # paid by another signature: this one is not needed
    _check_order(intent, asked, payment, config)
    if intent.status == IntentStatus.AWAITING_PAYMENT and not claims.is_settling(intent.id):
        _check_terms(intent, payment, config)
    intent, is_read = sales.look(intent, config)
    payer = payment.authorization.sender
    sale = sales.present(intent, config, payer)
    if sale is None:
        way = _way_of(intent, payment, config)
        _check_authorization(intent, payment, way, config)
        refusal = submitting.submit(
            intent, payment.authorization, payment.signature, way.market, config, is_read=is_read
        )
        intent = sales.order(intent.id)
        if refusal is not None:
            share.end_soon(intent, way.market.now)
            reason = f"The facilitator refused the payment: {refusal}."
            raise requirements.asking(intent, config, reason)
        sale = sales.present(intent, config, payer)
    if sale is None:
        raise requirements.asking(intent, config, _CHANGED)
    return sale


def _check_order(intent: PaymentIntent, asked: Asked, payment: Payment, config: Config) -> None:
    """Check that a payment is for the order with its address. InvalidPayment, whatever is wrong.

    IdempotencyKeyReused if only the body is another one. That is said to the buyer only: they have
    the claim.
    """
    if not asked.is_path_of(intent) or not _is_claimed(intent, payment.claim, config.keyring):
        raise InvalidPayment
    if not asked.is_body_of(intent, config.keyring):
        raise IdempotencyKeyReused("This payment is for an order that was made with another body.")


def _is_claimed(intent: PaymentIntent, offered: str, keyring: Keyring) -> bool:
    """Return whether a claim is that of an order, or of the price that was named before it."""
    named = price_claims.read(offered, intent.tenant_id, keyring)
    if named is not None:
        return named.is_of(intent) and not intent.link_generation
    return order_claim.is_claim(keyring, intent.id, intent.link_generation, offered)


def _check_terms(intent: PaymentIntent, payment: Payment, config: Config) -> None:
    """Check that the client accepted what this order requires. X402PaymentRequired.

    The amount of a payment that was tried before is not compared: it may be paid already.
    """
    way = _way_of(intent, payment, config)
    is_accepted = requirements.is_accepted(payment, way, intent.terms.address)
    is_due = payment.amount == way.amount
    if not is_accepted or not (is_due or _was_tried(way.market.chain, payment)):
        raise requirements.asking(intent, config, requirements.OTHER_TERMS)


def _way_of(intent: PaymentIntent, payment: Payment, config: Config) -> Way:
    """Return the way to pay that the client chose. X402PaymentRequired for another network."""
    for way in requirements.ways_for(intent, config):
        if way.market.network == payment.network:
            return way
    raise requirements.asking(intent, config, requirements.OTHER_TERMS)


def _was_tried(chain: Chain, payment: Payment) -> bool:
    known = claims.find(chain.chain_id, chain.token_address, payment.authorization)
    return known is not None


def _check_authorization(intent: PaymentIntent, payment: Payment, way: Way, config: Config) -> None:
    """Check the signed transfer. X402PaymentRequired. OrderEnded if the hold is over."""
    if intent.expires_at <= way.market.now:
        raise OrderEnded(intent=intent)
    reason = transfer_checks.fault_of(
        intent.id, payment.authorization, payment.signature, way, intent.expires_at
    )
    if reason is not None:
        raise requirements.asking(intent, config, reason)
