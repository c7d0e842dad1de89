"""The first request of an x402 client names a price and an address, and holds nothing.

The order is made, and its seats are held, when a signature arrives of an account that has the
money. So nobody closes the sale with requests alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ticketing import clock
from ticketing.chain import units
from ticketing.config import Config
from ticketing.constants import CURRENCY
from ticketing.db.connection import one_at_a_time, write_transaction
from ticketing.errors import (
    InvalidPayment,
    NotPayable,
    TooManyAddresses,
    X402NotEnabled,
    X402PaymentRequired,
)
from ticketing.limits import NAMED_PER_CLIENT
from ticketing.models.chains import ChainState
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.tenants import Tenant
from ticketing.services import chains, checkout, daily_counts, order_terms
from ticketing.services.checkout import Quote
from ticketing.services.wallets import issuing, named_addresses
from ticketing.services.wallets.named_addresses import NamedAddress
from ticketing.services.x402 import goods, price_claims, requirements, sales, transfer_checks
from ticketing.services.x402.asked import Asked
from ticketing.services.x402.payment_header import Payment
from ticketing.services.x402.price_claims import PriceClaim
from ticketing.services.x402.requirements import Way

NO_ADDRESS = "0x" + "0" * 40
"""What a price shows that names no address. Tokens refuse transfers to it."""

_SHOWN = "This is the price only. Send a POST: it names the address to pay to."

PREFLIGHT_PATH = "/v1/checkout/tenants/{tenant}/preflight"


@dataclass(frozen=True)
class _Price:
    """What an order would cost, where it can be paid, and the states of these chains."""

    quote: Quote
    ways: Sequence[Way]
    known: Mapping[int, ChainState]


def asking(
    tenant: Tenant, asked: Asked, config: Config, reason: str | None = None
) -> X402PaymentRequired | None:
    """Return the error that names a price, and an address that nobody else is told.

    None if it is free. `reason`: what was wrong with the payment before. The errors of a preflight.
    NotPayable without a wallet. X402NotEnabled. TooManyAddresses, also if the client was told
    NAMED_PER_CLIENT addresses today.
    """
    price = _price(tenant, asked, config)
    if not price.quote.amount:
        return None
    wallet = issuing.current(tenant)
    if wallet is None:
        raise NotPayable("The organizer has not set a wallet yet.")
    daily_counts.add("x402 addresses", asked.client, 1, NAMED_PER_CLIENT, TooManyAddresses)
    blocks = {
        chain_id: state.block_number
        for chain_id, state in price.known.items()
        if state.block_number is not None
    }
    claim = PriceClaim(
        named_addresses.take(wallet, blocks),
        price.quote.amount,
        asked.digest(config.keyring.current),
        clock.now() + price_claims.GOOD_FOR,
    )
    text = price_claims.write(claim, tenant.id, config.keyring)
    return _required(tenant, price, claim.named.address, text, config, reason)


def showing(tenant: Tenant, asked: Asked, config: Config) -> X402PaymentRequired | None:
    """Return the error that shows a price, with NO_ADDRESS and no claim: nobody can pay it.

    None if it is free. The errors of a preflight. X402NotEnabled.
    """
    price = _price(tenant, asked, config)
    if not price.quote.amount:
        return None
    return _required(tenant, price, NO_ADDRESS, None, config, _SHOWN)


def _required(
    tenant: Tenant,
    price: _Price,
    address: str,
    claim: str | None,
    config: Config,
    reason: str | None,
) -> X402PaymentRequired:
    amount = price.quote.amount
    accepts = [
        requirements.public(way, address, way.market.now + price_claims.GOOD_FOR)
        for way in price.ways
    ]
    sold = goods.of_lines(tenant, price.quote.lines)
    return X402PaymentRequired(
        requirements.message(sold, accepts, amount, claim, config, reason),
        amount=amount,
        currency=CURRENCY,
        preflight_url=(config.public_url or "") + PREFLIGHT_PATH.format(tenant=tenant.slug),
    )


def order_for(
    tenant: Tenant, asked: Asked, payment: Payment, digests: Sequence[str], config: Config
) -> PaymentIntent:
    """Make the order for a payment of a price that was named. Its seats are held now.

    `digests`: of the Idempotency-Key. If it has an order meanwhile, with another address, return
    that. InvalidPayment if the payment is for no price that was named
    for this body, or its time is over. X402PaymentRequired with another price, or if the payer did
    not sign or has not the money. The errors of a preflight: nothing was paid. ChainUnavailable.
    NodesBusy.
    """
    claim = price_claims.read(payment.claim, tenant.id, config.keyring)
    if claim is None or claim.has_ended or not _is_for(claim, asked, payment, config):
        raise InvalidPayment
    fault = _fault_of(tenant, asked, payment, claim, config)
    if fault is not None:
        raise asking(tenant, asked, config, fault) or InvalidPayment
    return _make(tenant, asked, payment, claim.named, digests, config)


def _price(tenant: Tenant, asked: Asked, config: Config) -> _Price:
    """Return what is asked for costs now, and where it can be paid. X402NotEnabled: nowhere.

    The first network is there even while its chain cannot be read. Another one must have been read
    a moment ago.
    """
    lines = asked.lines(tenant)
    order = asked.order(lines, None, config.keyring)
    quote = checkout.quote(tenant.id, order, config, with_answers=True)
    known = order_terms.states_for(quote.lines)
    if not quote.amount:
        return _Price(quote, (), known)
    found = {each.chain_id: each for each in order_terms.everywhere(quote.lines, known, config)}
    markets = requirements.markets_of(list(found), config)
    if not markets:
        raise X402NotEnabled
    fresh = {chain_id for chain_id, state in known.items() if chains.is_fresh(state)}
    others = [each for each in markets[1:] if each.chain.chain_id in fresh]
    ways = [
        Way(market, units.to_atomic(quote.amount, found[market.chain.chain_id].decimals or 0))
        for market in (markets[0], *others)
    ]
    return _Price(quote, ways, known)


def _is_for(claim: PriceClaim, asked: Asked, payment: Payment, config: Config) -> bool:
    is_body = claim.body_digest in [asked.digest(each) for each in config.keyring.accepted]
    return is_body and claim.named.address == payment.authorization.recipient


def _fault_of(
    tenant: Tenant, asked: Asked, payment: Payment, claim: PriceClaim, config: Config
) -> str | None:
    """Return why no order is made for a payment. None: it is good, and its payer has the money."""
    price = _price(tenant, asked, config)
    if price.quote.amount != claim.amount:
        return "The price has changed. Nothing was paid."
    way = next((each for each in price.ways if each.market.network == payment.network), None)
    if way is None or payment.amount != way.amount:
        return requirements.OTHER_TERMS
    if not requirements.is_accepted(payment, way, claim.named.address):
        return requirements.OTHER_TERMS
    address, signed = claim.named.address, payment.authorization
    # In the chain's time, which may not be that of the claim.
    ends_at = way.market.now + price_claims.GOOD_FOR
    fault = transfer_checks.fault_of(address, signed, payment.signature, way, ends_at)
    if fault is None and not transfer_checks.has_money(address, signed, way.market):
        fault = "The payer does not have the money."
    return fault


def _make(
    tenant: Tenant,
    asked: Asked,
    payment: Payment,
    named: NamedAddress,
    digests: Sequence[str],
    config: Config,
) -> PaymentIntent:
    """Make the order, unless a request with the same payment, or the same key, was faster."""
    lines = asked.lines(tenant)
    chain_id = requirements.chain_id_of(payment.network)
    digest = digests[0] if digests else None
    with write_transaction():
        if digest is not None:
            one_at_a_time(f"x402 key {digest}")
        one_at_a_time(f"x402 address {named.address}")
        known = sales.order_at(tenant, named.address) or sales.order_of_key(tenant, digests)
        if known is not None:
            return known
        order = asked.order(lines, chain_id, config.keyring, digest, named)
        intent = checkout.preflight(tenant.id, order, config)
    return sales.order(intent.id)
