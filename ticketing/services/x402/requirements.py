"""Write PAYMENT-REQUIRED: what an x402 client must sign to pay for an order."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ticketing import credentials, formats
from ticketing.chain import units
from ticketing.chain.eip3009 import TokenDomain
from ticketing.chain.registry import Chain
from ticketing.config import Config
from ticketing.constants import CURRENCY
from ticketing.errors import OrderEnded, X402NotEnabled, X402PaymentRequired
from ticketing.models.chains import ChainState
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services import chains
from ticketing.services.orders import intents
from ticketing.services.x402 import goods, order_claim, share
from ticketing.services.x402.goods import Goods
from ticketing.services.x402.payment_header import SCHEME, VERSION, Payment

_EVM = "eip155:"

LEAST_SECONDS = 10
"""The least time for a client to sign and for the facilitator to submit."""

_NO_SIGNATURE = "PAYMENT-SIGNATURE header is required."
OTHER_TERMS = "The accepted requirements are not those of this order."
SPEND_LIMIT = "raise your client's spend limit (default $1)"


@dataclass(frozen=True)
class Market:
    """A chain on which x402 clients can pay. `now` is the time for deadlines on it."""

    chain: Chain
    domain: TokenDomain
    now: datetime

    @property
    def network(self) -> str:
        """The chain's CAIP-2 name."""
        return network(self.chain.chain_id)

    @property
    def separator(self) -> bytes:
        """The token's EIP-712 domain separator."""
        return self.domain.separator(self.chain.chain_id, self.chain.token_address)


@dataclass(frozen=True)
class Way:
    """A market on which an order can be paid now. `amount`: what is missing, in atomic units."""

    market: Market
    amount: int


def chain_id_of(network: str) -> int | None:
    """Return the chain of a CAIP-2 name. None for another kind of network."""
    digits = network.removeprefix(_EVM)
    is_one = network.startswith(_EVM) and digits.isascii() and digits.isdigit()
    return int(digits) if is_one and len(digits) < 16 else None


def network(chain_id: int) -> str:
    """Return the CAIP-2 name of a chain."""
    return f"{_EVM}{chain_id}"


def is_enabled(config: Config) -> bool:
    """Return whether x402 clients can pay on any chain."""
    return any(chain.facilitator for chain in config.chains.values())


def markets_of(chain_ids: Sequence[int], config: Config) -> Sequence[Market]:
    """Return the markets of some chains.

    Each has a facilitator that can be used, as the worker found, and a suitable token.
    """
    enabled = [config.chains[each] for each in chain_ids if each in config.chains]
    with_facilitator = [chain for chain in enabled if chain.facilitator is not None]
    if not with_facilitator:
        return ()
    known = chains.states()
    found = (_market(chain, known) for chain in with_facilitator)
    return [market for market in found if market is not None]


def _market(chain: Chain, known: Mapping[int, ChainState]) -> Market | None:
    state = known.get(chain.chain_id)
    domain = chains.domain_of(state, chain)
    if domain is None or not chains.has_facilitator(state):
        return None
    return Market(chain, domain, chains.now_on(chain.chain_id, known))


def market_for(intent: PaymentIntent, config: Config) -> Market:
    """Return the market of an order's home. X402NotEnabled."""
    for market in markets_of([intent.terms.chain_id], config):
        if market.chain.token_address == intent.terms.token_address:
            return market
    raise X402NotEnabled


def ways_for(intent: PaymentIntent, config: Config) -> Sequence[Way]:
    """Return where an order can be paid, its home first. X402NotEnabled if that is nowhere.

    The home is there even while its chain cannot be read: the order need not move. Another network
    must have been read a moment ago.

    Example: an order of 25 can be paid on Base, Polygon and Arbitrum, its home is Polygon, and 24
    arrived on Base. Arbitrum has no facilitator. There are two: 25 on Polygon, and 1 on Base.
    """
    home = intent.terms.chain_id
    due = {home: amount_of(intent)}
    tokens = {home: intent.terms.token_address}
    if intent.networks is not None:
        intents.add_payment_details([intent])
        for option in intent.payment_options:
            tokens[option.chain_id] = option.token_address
            if option.atomic_due is not None:
                due.setdefault(option.chain_id, option.atomic_due)
    markets = [
        market
        for market in markets_of(list(due), config)
        if market.chain.token_address == tokens[market.chain.chain_id]
    ]
    if not markets:
        raise X402NotEnabled
    return [Way(market, due[market.chain.chain_id]) for market in markets]


def amount_of(intent: PaymentIntent) -> int:
    """Return what is due for an order on its home, in atomic units."""
    return units.to_atomic(intent.amount_due, intent.terms.decimals)


def public(way: Way, pay_to: str, ends_at: datetime) -> dict[str, Any]:
    """Return what to sign for one network, without the claim. `ends_at`: of the hold or price."""
    seconds = math.floor((ends_at - way.market.now).total_seconds())
    return {
        "scheme": SCHEME,
        "network": way.market.network,
        "amount": str(way.amount),
        "asset": way.market.chain.token_address,
        "payTo": pay_to,
        "maxTimeoutSeconds": max(1, min(int(share.HOLD.total_seconds()), seconds)),
        "extra": {"name": way.market.domain.name, "version": way.market.domain.version},
    }


def is_accepted(payment: Payment, way: Way, pay_to: str) -> bool:
    """Return whether a client accepted what is asked for on a network, except for its amount."""
    accepted = (payment.asset, payment.pay_to, payment.name, payment.version)
    chain, domain = way.market.chain, way.market.domain
    return accepted == (chain.token_address, pay_to, domain.name, domain.version)


def asking(intent: PaymentIntent, config: Config, reason: str | None = None) -> X402PaymentRequired:
    """Return the error that asks for a payment, or for another one. `reason`: what was wrong.

    OrderEnded if too little of the hold is left to pay. X402NotEnabled.
    """
    intents.add_payment_details([intent])
    ways = [way for way in ways_for(intent, config) if _is_in_time(intent, way.market)]
    if not ways:
        raise OrderEnded(intent=intent)
    accepts = [public(way, intent.terms.address, intent.expires_at) for way in ways]
    claim = order_claim.claim(config.keyring.current, intent.id, intent.link_generation)
    return X402PaymentRequired(
        message(goods.of_order(intent), accepts, intent.amount_due, claim, config, reason),
        intent=intent,
        client_secret=credentials.client_secret(
            config.keyring.current, intent.id, intent.link_generation
        ),
    )


def message(
    sold: Goods,
    accepts: Sequence[dict[str, Any]],
    amount: int,
    claim: str | None,
    config: Config,
    reason: str | None,
) -> dict[str, Any]:
    """Return the content of PAYMENT-REQUIRED. `amount`: what is due, in micro-units.

    `claim`: None if nothing can be paid like this.
    """
    if claim is not None:
        for each in accepts:
            each["extra"]["claim"] = claim
    price = formats.amount(amount, CURRENCY)
    return {
        "x402Version": VERSION,
        "error": f"{reason or _NO_SIGNATURE} This costs {price}: {SPEND_LIMIT}.",
        "resource": sold.resource(config.public_url or ""),
        "accepts": accepts,
        "extensions": sold.extensions,
    }


def _is_in_time(intent: PaymentIntent, market: Market) -> bool:
    """Return whether enough of the hold is left to pay."""
    return bool((intent.expires_at - market.now).total_seconds() >= LEAST_SECONDS)
