"""The second request of an x402 client: a signed payment. The checks come in a fixed order."""

from __future__ import annotations

from ticketing.chain.eip3009 import signer
from ticketing.chain.errors import RpcError
from ticketing.chain.node import connect
from ticketing.chain.registry import Chain
from ticketing.config import Config
from ticketing.constants import IntentStatus
from ticketing.errors import ChainUnavailable, KeyReused, NodesBusy
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.tenants import Tenant
from ticketing.models.x402 import SettlementState, X402Settlement
from ticketing.services import node_slots
from ticketing.services.x402 import claims, order_claim, requirements, sales, settling
from ticketing.services.x402.asked import Asked
from ticketing.services.x402.errors import InvalidPayment, OrderEnded
from ticketing.services.x402.facilitator import Outcome, Verdict
from ticketing.services.x402.payment_header import Payment
from ticketing.services.x402.requirements import Market, Way
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
        if is_read:
            _settle(intent, payment, way.market, config)
        else:
            # The order may be paid already. The worker looks first.
            signed, signature = payment.authorization, payment.signature
            claims.claim(intent, way.market.chain, signed, signature, calls=0)
        intent = sales.order(intent.id)
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
    elif not _is_signed(intent, payment, market):
        reason = "The signature is not the payer's."
    if reason is not None:
        raise requirements.asking(intent, config, reason)


def _is_signed(intent: PaymentIntent, payment: Payment, market: Market) -> bool:
    """Return whether the payer signed, or is a contract: then the facilitator finds out.

    ChainUnavailable if that is not known.
    """
    signed = payment.authorization
    try:
        if signer(signed.digest(market.separator), payment.signature) == signed.sender:
            return True
    except ValueError:
        pass
    try:
        with node_slots.slot(intent.id):
            return connect(market.chain).has_code(signed.sender)
    except RpcError:
        raise ChainUnavailable from None


def _settle(intent: PaymentIntent, payment: Payment, market: Market, config: Config) -> None:
    """Claim the payment and let the facilitator settle it. If too many wait, the worker does."""
    signed, signature = payment.authorization, payment.signature
    try:
        with node_slots.slot(intent.id):
            row = claims.claim(intent, market.chain, signed, signature, calls=1)
            verdict = None if row is None else settling.settle(row, intent, market, config)
    except NodesBusy:
        claims.claim(intent, market.chain, signed, signature, calls=0)
        return
    if row is not None and verdict is not None:
        _conclude(row, verdict, market, config)


def _conclude(row: X402Settlement, verdict: Verdict, market: Market, config: Config) -> None:
    """Write what the chain says about a payment. SignatureRequired if it is surely not used."""
    # Its home may be another one than before the claim.
    intent, _ = sales.look(sales.order(row.intent_id), config)
    if intent.status in settling.PAID:
        claims.end(row, SettlementState.SETTLED)
    elif verdict.outcome is Outcome.REFUSED and _is_unused(row, intent, verdict, market):
        claims.give_up(row)
        intent = sales.order(intent.id)
        if intent.status == IntentStatus.AWAITING_PAYMENT:
            reason = f"The facilitator refused the payment: {verdict.reason}."
            raise requirements.asking(intent, config, reason)
    else:
        claims.wait(row)


def _is_unused(
    row: X402Settlement, intent: PaymentIntent, verdict: Verdict, market: Market
) -> bool:
    """Return whether the chain does not have a refused transfer. If too many wait: not known."""
    try:
        with node_slots.slot(intent.id):
            return settling.is_unused(row, verdict, market)
    except NodesBusy:
        return False
