"""The second request of an x402 client: a signed payment. The checks come in a fixed order."""

from __future__ import annotations

from ticketing.chain.registry import Chain
from ticketing.config import Config
from ticketing.constants import IntentStatus
from ticketing.errors import KeyReused
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.tenants import Tenant
from ticketing.services.x402 import claims, order_claim, requirements, sales, submitting
from ticketing.services.x402.asked import Asked
from ticketing.services.x402.errors import InvalidPayment, OrderEnded
from ticketing.services.x402.payment_header import Payment
from ticketing.services.x402.requirements import Way
from ticketing.services.x402.sales import Sale

_NO_INTENT = "pi_"
_OTHER_TERMS = "The accepted requirements are not those of this order."


def pay(tenant: Tenant, asked: Asked, payment: Payment, config: Config) -> Sale:
    """Settle a payment once, and return the order as the chain then is.

    InvalidPayment for no order of this path, or without its claim. KeyReused for one with another
    body. SignatureRequired with what to sign instead. OrderEnded, IntentReversed, X402CallsUsed,
    X402NotEnabled, NetworkUnavailable, ChainUnavailable.
    """
    intent = _order_of(tenant, asked, payment, config)
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
            reason = f"The facilitator refused the payment: {refusal}."
            raise requirements.asking(intent, config, reason)
        sale = sales.present(intent, config, payer)
    if sale is None:
        raise requirements.asking(intent, config)
    return sale


def _order_of(tenant: Tenant, asked: Asked, payment: Payment, config: Config) -> PaymentIntent:
    """Return the order that a payment is for. InvalidPayment, whatever does not match.

    KeyReused if only the body is another one. That is said to the buyer only: they have the claim.
    An order of the version before has no digest of its body, and its payment may have any.
    """
    intent = sales.order_at(tenant, payment.authorization.recipient)
    intent_id = _NO_INTENT if intent is None else intent.id
    is_claimed = order_claim.is_claim(config.keyring, intent_id, payment.claim)
    if intent is None or not asked.is_path_of(intent) or not is_claimed:
        raise InvalidPayment
    if intent.body_digest is not None and not asked.is_body_of(intent, config.keyring):
        raise KeyReused("This payment is for an order that was made with another body.")
    return intent


def _check_terms(intent: PaymentIntent, payment: Payment, config: Config) -> None:
    """Check that the client accepted what this order requires. SignatureRequired.

    The amount of a payment that was tried before is not compared: it may be paid already.
    """
    way = _way_of(intent, payment, config)
    accepted = (payment.asset, payment.pay_to, payment.name, payment.version)
    chain, domain = way.market.chain, way.market.domain
    required = (chain.token_address, intent.terms.address, domain.name, domain.version)
    is_due = payment.amount == way.amount
    if accepted != required or not (is_due or _was_tried(chain, payment)):
        raise requirements.asking(intent, config, _OTHER_TERMS)


def _way_of(intent: PaymentIntent, payment: Payment, config: Config) -> Way:
    """Return the way to pay that the client chose. SignatureRequired for another network."""
    for way in requirements.ways_for(intent, config):
        if way.market.network == payment.network:
            return way
    raise requirements.asking(intent, config, _OTHER_TERMS)


def _was_tried(chain: Chain, payment: Payment) -> bool:
    known = claims.find(chain.chain_id, chain.token_address, payment.authorization)
    return known is not None


def _check_authorization(intent: PaymentIntent, payment: Payment, way: Way, config: Config) -> None:
    """Check the signed transfer. SignatureRequired. OrderEnded if the hold is over."""
    market = way.market
    signed, now = payment.authorization, market.now.timestamp()
    if intent.expires_at <= market.now:
        raise OrderEnded(intent=intent)
    reason = None
    if signed.value != way.amount:
        reason = "The signed value is not the price."
    elif signed.valid_before <= now:
        reason = "The signed transfer has expired."
    elif signed.valid_after > now:
        reason = "The signed transfer is not valid yet."
    elif not submitting.is_signed(intent, signed, payment.signature, market):
        reason = "The signature is not the payer's."
    if reason is not None:
        raise requirements.asking(intent, config, reason)
