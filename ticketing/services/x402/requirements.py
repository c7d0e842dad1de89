"""Write PAYMENT-REQUIRED: what an x402 client must sign to pay for an order."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ticketing import credentials, formats
from ticketing.chain import units
from ticketing.chain.eip3009 import TokenDomain
from ticketing.chain.registry import Chain
from ticketing.config import Config
from ticketing.models.payment_intents import PaymentIntent
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


def market_of(chain_id: int, config: Config) -> Market:
    """Return the market of a chain. X402NotEnabled without a facilitator or a suitable token."""
    chain, known = config.chains.get(chain_id), chains.states()
    if chain is None or chain.facilitator is None:
        raise X402NotEnabled
    domain = chains.domain_of(known.get(chain_id), chain)
    if domain is None:
        raise X402NotEnabled
    return Market(chain, domain, chains.now_on(chain_id, known))


def market_for(intent: PaymentIntent, config: Config) -> Market:
    """Return the market on which an order can be paid. X402NotEnabled."""
    market = market_of(intent.terms.chain_id, config)
    if market.chain.token_address != intent.terms.token_address:
        raise X402NotEnabled
    return market


def amount_of(intent: PaymentIntent) -> int:
    """Return what is due for an order, in atomic units."""
    return units.to_atomic(intent.amount_due, intent.terms.decimals)


def public(intent: PaymentIntent, market: Market, atomic_amount: int) -> dict[str, Any]:
    """Return the requirements of an order without its claim. OrderEnded if its time is over."""
    seconds = math.floor((intent.expires_at - market.now).total_seconds())
    return {
        "scheme": SCHEME,
        "network": market.network,
        "amount": str(atomic_amount),
        "asset": intent.terms.token_address,
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

    Examples: "Launch Night, Seat, 2 x 5.00 USDC". "Launch Night, 12.00 USDC in all: 2 x Seat at
    5.00 USDC, 1 x Child at 2.00 USDC".
    """
    title, item = intent.event.title, intent.only_item
    if item is not None:
        price = formats.amount(item.unit_amount, intent.currency)
        return f"{title}, {intent.ticket_type.name}, {item.quantity} x {price}"
    items.add_names([intent])
    listed = ", ".join(
        f"{each.quantity} x {intent.item_names[each.ticket_type_id]}"
        f" at {formats.amount(each.unit_amount, intent.currency)}"
        for each in intent.items
    )
    # The sum comes first, because many long names are cut.
    text = f"{title}, {formats.amount(intent.amount, intent.currency)} in all: {listed}"
    is_long = len(text) > _LONGEST_DESCRIPTION
    return text[: _LONGEST_DESCRIPTION - 1] + "…" if is_long else text


def asking(
    intent: PaymentIntent, market: Market, config: Config, reason: str | None = None
) -> SignatureRequired:
    """Return the error that asks for a payment, or for another one. `reason`: what was wrong.

    OrderEnded if too little of the hold is left to pay.
    """
    intents.add_payment_details([intent])
    if (intent.expires_at - market.now).total_seconds() < LEAST_SECONDS:
        raise OrderEnded(intent=intent)
    price = formats.amount(intent.amount_due, intent.currency)
    accepted = public(intent, market, amount_of(intent))
    accepted["extra"]["claim"] = order_claim.claim(config.keyring.current, intent.id)
    error = reason or "PAYMENT-SIGNATURE header is required."
    return SignatureRequired(
        {
            "x402Version": VERSION,
            "error": f"{error} This costs {price}: {SPEND_LIMIT}.",
            "resource": resource_of(intent, config.public_url or ""),
            "accepts": [accepted],
            "extensions": {},
        },
        intent=intent,
        client_secret=credentials.client_secret(config.keyring.current, intent.id),
    )
