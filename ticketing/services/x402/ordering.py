"""The first request of an x402 client: what a ticket costs, and an order for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ticketing.config import Config
from ticketing.constants import CURRENCY
from ticketing.db.connection import one_at_a_time, write_transaction
from ticketing.errors import KeyReused
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.tenants import Tenant
from ticketing.models.ticket_types import TicketType
from ticketing.services import checkout
from ticketing.services.checkout import Order
from ticketing.services.orders import holds
from ticketing.services.orders.lines import Wanted
from ticketing.services.x402 import requirements, sales, share
from ticketing.services.x402.errors import X402NotEnabled
from ticketing.services.x402.requirements import Market
from ticketing.services.x402.sales import Sale


@dataclass(frozen=True)
class Product:
    """A ticket type that x402 clients can buy. `market` is None if it is free."""

    ticket_type: TicketType
    market: Market | None
    url: str

    @property
    def currency(self) -> str:
        """The currency of its price."""
        return CURRENCY

    @property
    def network(self) -> str | None:
        """The CAIP-2 name of the chain."""
        return None if self.market is None else self.market.network

    @property
    def asset(self) -> str | None:
        """The address of the token."""
        return None if self.market is None else self.market.chain.token_address

    @property
    def how_to_buy(self) -> str:
        """What an agent does with `url`."""
        if self.market is None:
            return "POST to `url`: it is free."
        return (
            "POST to `url` with an x402 client (version 2, scheme exact)."
            f" First {requirements.SPEND_LIMIT}."
        )


def product(tenant: Tenant, ticket_id: str, config: Config) -> Product:
    """Return how a ticket type can be bought. It reserves nothing. NotFound, X402NotEnabled."""
    found = holds.on_sale_by_id(tenant.id, ticket_id)
    url = (config.public_url or "") + requirements.path(tenant, ticket_id)
    return Product(found, _market_of(found, config), url)


def order(
    tenant: Tenant,
    ticket_id: str,
    wanted: Mapping[str, Any],
    digests: Sequence[str],
    config: Config,
) -> Sale:
    """Make an order, and raise SignatureRequired for its payment. A free one is sold at once.

    `wanted`: `quantity`, and further fields of a checkout Order. `digests`: of the Idempotency-Key,
    one for each SECRET_KEY, the current one first. A repeat returns or raises the present state.

    NotFound, X402NotEnabled, KeyReused, OrderEnded, IntentReversed, and the errors of a preflight.
    """
    known = sales.order_of_key(tenant, digests)
    if known is None:
        known = _new(tenant, ticket_id, wanted, digests, config)
    if (known.only_ticket_id, known.quantity) != (ticket_id, wanted["quantity"]):
        raise KeyReused
    return _present(known, config)


def _new(
    tenant: Tenant,
    ticket_id: str,
    wanted: Mapping[str, Any],
    digests: Sequence[str],
    config: Config,
) -> PaymentIntent:
    """Make an order, unless another request with the same key was faster."""
    found = holds.on_sale_by_id(tenant.id, ticket_id)
    _market_of(found, config)
    digest = digests[0] if digests else None
    with write_transaction():
        if digest is not None:
            one_at_a_time(f"x402 key {digest}")
        known = sales.order_of_key(tenant, digests)
        if known is not None:
            return known
        further = {name: value for name, value in wanted.items() if name != "quantity"}
        made = Order(
            event_id=found.event_id,
            wanted=(Wanted(ticket_id, wanted["quantity"]),),
            channel=share.channel(digest),
            **further,
        )
        intent = checkout.preflight(tenant.id, made, config)
    return sales.order(intent.id)


def _present(intent: PaymentIntent, config: Config) -> Sale:
    intent, _ = sales.look(intent, config)
    sale = sales.present(intent, config)
    if sale is not None:
        return sale
    market = requirements.market_for(intent, config)
    raise requirements.asking(intent, market, config)


def _market_of(found: TicketType, config: Config) -> Market | None:
    if found.chain_id is not None:
        return requirements.market_of(found.chain_id, config)
    if not requirements.is_enabled(config):
        raise X402NotEnabled
    return None
