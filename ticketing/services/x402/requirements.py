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
from ticketing.models.chains import ChainState
from ticketing.models.payment_intents import Item, PaymentIntent
from ticketing.models.tenants import Tenant
from ticketing.services import chains
from ticketing.services.orders import intents, items
from ticketing.services.x402 import order_claim, share
from ticketing.services.x402.errors import OrderEnded, SignatureRequired, X402NotEnabled
from ticketing.services.x402.payment_header import SCHEME, VERSION

PATH = "/v1/x402/tenants/{tenant}/tickets/{ticket_id}/orders"
EVENT_PATH = "/v1/x402/tenants/{tenant}/events/{event_id}/orders"
LEAST_SECONDS = 10
"""The least time for a client to sign and for the facilitator to submit."""

_LONGEST_DESCRIPTION = 300
"""Characters. Clients send the description back in a header, which has its own limit."""

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


def network(chain_id: int) -> str:
    """Return the CAIP-2 name of a chain."""
    return f"eip155:{chain_id}"


def path(tenant: Tenant, ticket_id: str) -> str:
    """Return the path on which x402 clients order a ticket type."""
    return PATH.format(tenant=tenant.slug, ticket_id=ticket_id)


def event_path(tenant: Tenant, event_id: str) -> str:
    """Return the path on which x402 clients order any ticket types of an event."""
    return EVENT_PATH.format(tenant=tenant.slug, event_id=event_id)


def path_of(tenant: Tenant, intent: PaymentIntent) -> str:
    """Return the path on which such an order is made.

    That of a ticket type takes neither several items nor a price that the buyer chooses.
    """
    item = intent.only_item
    if item is None or item.unit_amount > item.list_amount:
        return event_path(tenant, intent.event_id)
    return path(tenant, item.ticket_type_id)


def is_enabled(config: Config) -> bool:
    """Return whether x402 clients can pay on any chain."""
    return any(chain.facilitator for chain in config.chains.values())


def markets_of(chain_ids: Sequence[int], config: Config) -> Sequence[Market]:
    """Return the markets of those of some chains that have a facilitator and a suitable token."""
    enabled = [config.chains[each] for each in chain_ids if each in config.chains]
    with_facilitator = [chain for chain in enabled if chain.facilitator is not None]
    if not with_facilitator:
        return ()
    known = chains.states()
    found = (_market(chain, known) for chain in with_facilitator)
    return [market for market in found if market is not None]


def _market(chain: Chain, known: Mapping[int, ChainState]) -> Market | None:
    domain = chains.domain_of(known.get(chain.chain_id), chain)
    if domain is None:
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


def _is_in_time(intent: PaymentIntent, market: Market) -> bool:
    """Return whether enough of the hold is left to pay."""
    return bool((intent.expires_at - market.now).total_seconds() >= LEAST_SECONDS)


def amount_of(intent: PaymentIntent) -> int:
    """Return what is due for an order on its home, in atomic units."""
    return units.to_atomic(intent.amount_due, intent.terms.decimals)


def public(intent: PaymentIntent, market: Market, atomic_amount: int) -> dict[str, Any]:
    """Return the requirements of an order without its claim. OrderEnded if its time is over."""
    seconds = math.floor((intent.expires_at - market.now).total_seconds())
    return {
        "scheme": SCHEME,
        "network": market.network,
        "amount": str(atomic_amount),
        "asset": market.chain.token_address,
        "payTo": intent.terms.address,
        "maxTimeoutSeconds": max(1, min(int(share.HOLD.total_seconds()), seconds)),
        "extra": {"name": market.domain.name, "version": market.domain.version},
    }


def resource_of(intent: PaymentIntent, public_url: str) -> dict[str, str]:
    """Return what is sold, and its URL. The event and the ticket type come with the intent."""
    return {
        "url": public_url + path_of(intent.tenant, intent),
        "description": _description_of(intent),
        "mimeType": "application/json",
    }


def _description_of(intent: PaymentIntent) -> str:
    """Return what is sold for people who confirm a payment.

    Examples: "Launch Night, Seat, 2 x 5.00 USDC". "Launch Night, Seat, 1 x 5.00 USDC (2.00 USDC of
    one come back to who came)". "Launch Night, 12.00 USDC in all: 2 x Seat at
    5.00 USDC, 1 x Child at 2.00 USDC".
    """
    title, item = intent.event.title, intent.only_item
    if item is not None:
        price = formats.amount(item.unit_amount, intent.currency)
        terms = _terms_of(item, intent.currency)
        return f"{title}, {intent.ticket_type.name}, {item.quantity} x {price}{terms}"
    items.add_names([intent])
    listed = ", ".join(
        f"{each.quantity} x {intent.item_names[each.ticket_type_id]}"
        f" at {formats.amount(each.unit_amount, intent.currency)}{_terms_of(each, intent.currency)}"
        for each in intent.items
    )
    # The sum comes first, because many long names are cut.
    text = f"{title}, {formats.amount(intent.amount, intent.currency)} in all: {listed}"
    is_long = len(text) > _LONGEST_DESCRIPTION
    return text[: _LONGEST_DESCRIPTION - 1] + "…" if is_long else text


def _terms_of(item: Item, currency: str) -> str:
    """Return on which terms a part of a price comes back, in brackets. Empty: on none."""
    terms = []
    if item.deposit_amount:
        amount = formats.amount(item.deposit_amount, currency)
        terms.append(f"{amount} of one come back to who came")
    if item.return_fee_percent is not None:
        terms.append(f"can be given back, less {item.return_fee_percent} %, if it is sold on")
    return f" ({'; '.join(terms)})" if terms else ""


def asking(intent: PaymentIntent, config: Config, reason: str | None = None) -> SignatureRequired:
    """Return the error that asks for a payment, or for another one. `reason`: what was wrong.

    OrderEnded if too little of the hold is left to pay. X402NotEnabled.
    """
    intents.add_payment_details([intent])
    ways = [way for way in ways_for(intent, config) if _is_in_time(intent, way.market)]
    if not ways:
        raise OrderEnded(intent=intent)
    price = formats.amount(intent.amount_due, intent.currency)
    accepts = [public(intent, way.market, way.amount) for way in ways]
    for each in accepts:
        each["extra"]["claim"] = order_claim.claim(config.keyring.current, intent.id)
    error = reason or "PAYMENT-SIGNATURE header is required."
    return SignatureRequired(
        {
            "x402Version": VERSION,
            "error": f"{error} This costs {price}: {SPEND_LIMIT}.",
            "resource": resource_of(intent, config.public_url or ""),
            "accepts": accepts,
            "extensions": {},
        },
        intent=intent,
        client_secret=credentials.client_secret(config.keyring.current, intent.id),
    )
