"""The first request of an x402 client: what tickets cost, and an order for what is free."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ticketing.config import Config
from ticketing.constants import CURRENCY
from ticketing.db.connection import one_at_a_time, write_transaction
from ticketing.errors import (
    IdempotencyKeyReused,
    NetworkUnavailable,
    TicketingError,
    X402NotEnabled,
    X402PaymentRequired,
)
from ticketing.models.events import Event
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.tenants import Tenant
from ticketing.models.ticket_types import TicketType
from ticketing.services import chains, checkout, order_terms
from ticketing.services.orders import holds, intents, order_rules
from ticketing.services.orders.lines import Line
from ticketing.services.x402 import goods, pricing, requirements, sales
from ticketing.services.x402.asked import Asked
from ticketing.services.x402.requirements import Market
from ticketing.services.x402.sales import Sale

_HOW_TO_PAY = "with an x402 client (version 2, scheme exact)."


@dataclass(frozen=True)
class Product:
    """A ticket type that x402 clients can buy, on any of these markets. None if it is free."""

    ticket_type: TicketType
    markets: Sequence[Market]
    url: str

    currency = CURRENCY

    @property
    def networks(self) -> Sequence[dict[str, str]]:
        """The CAIP-2 name of each chain, and the address of its token."""
        return [
            {"network": market.network, "asset": market.chain.token_address}
            for market in self.markets
        ]

    @property
    def network(self) -> str | None:
        """The CAIP-2 name of the first chain."""
        return self.markets[0].network if self.markets else None

    @property
    def asset(self) -> str | None:
        """The address of its token."""
        return self.markets[0].chain.token_address if self.markets else None

    @property
    def how_to_buy(self) -> str:
        """What an agent does with `url`."""
        if not self.markets:
            return "POST to `url`: it is free."
        return f"POST to `url` {_HOW_TO_PAY} First {requirements.SPEND_LIMIT}."


@dataclass(frozen=True)
class Shelf:
    """The ticket types of one event that x402 clients can buy, and the URL for any of them."""

    event: Event
    products: Sequence[Product]
    url: str

    currency = CURRENCY

    @property
    def how_to_buy(self) -> str:
        """What an agent does with `url`."""
        which = "of one ticket type or of several" if self.event.carts else "of one ticket type"
        return (
            f"POST `items`, {which}, to `url` {_HOW_TO_PAY}"
            f" First {requirements.SPEND_LIMIT}. All items are paid in one transfer, so those that"
            " cost something must share one of their `networks`."
        )


def product(tenant: Tenant, ticket_id: str, config: Config) -> Product:
    """Return how a ticket type can be bought. It reserves nothing. NotFound, X402NotEnabled."""
    return _product(tenant, holds.on_sale_by_id(tenant.id, ticket_id), config)


def shelf(tenant: Tenant, event_reference: str, config: Config) -> Shelf:
    """Return what of an event can be bought, and how. It reserves nothing.

    NotFound. X402NotEnabled if x402 clients can buy none of its ticket types.
    """
    products = []
    found = holds.all_on_sale(tenant.id, event_reference)
    for ticket_type in found:
        try:
            products.append(_product(tenant, ticket_type, config))
        except X402NotEnabled:
            continue
    if not products:
        raise X402NotEnabled
    event: Event = found[0].event
    url = (config.public_url or "") + goods.event_path(tenant, event.id)
    return Shelf(event, products, url)


def price(tenant: Tenant, asked: Asked, config: Config) -> X402PaymentRequired | None:
    """Return the error that shows a price, for programs that look. It holds and names nothing.

    None if a client could not buy it like this now, or it is free.
    """
    try:
        return pricing.showing(tenant, asked, config)
    except TicketingError:
        return None


def order(tenant: Tenant, asked: Asked, digests: Sequence[str], config: Config) -> Sale:
    """Raise X402PaymentRequired for a price: nothing is held or stored. What is free is sold.

    `digests`: of the Idempotency-Key, one for each SECRET_KEY, the current one first. A repeat
    returns or raises the present state.

    NotFound, VoucherInvalid, X402NotEnabled, IdempotencyKeyReused, OrderEnded, IntentReversed,
    TooManyAddresses, and the errors of a preflight.
    """
    known = of_key(tenant, asked, digests, config)
    if known is not None:
        return known
    lines = asked.lines(tenant)
    home = _home(lines, config)
    priced = None if home is None else pricing.asking(tenant, asked, config)
    if priced is not None:
        raise priced
    return _present(_free(tenant, asked, lines, home, digests, config), asked, config)


def of_key(tenant: Tenant, asked: Asked, digests: Sequence[str], config: Config) -> Sale | None:
    """Return the present state of the order with this Idempotency-Key. None: there is none.

    NotFound if its links have ended. X402PaymentRequired, IdempotencyKeyReused, OrderEnded,
    IntentReversed, X402NotEnabled.
    """
    known = sales.order_of_key(tenant, digests)
    return None if known is None else _present(known, asked, config)


def _free(
    tenant: Tenant,
    asked: Asked,
    lines: Sequence[Line],
    home: int | None,
    digests: Sequence[str],
    config: Config,
) -> PaymentIntent:
    """Order what is free, unless another request with the same key was faster."""
    digest = digests[0] if digests else None
    with write_transaction():
        if digest is not None:
            one_at_a_time(f"x402 key {digest}")
        known = sales.order_of_key(tenant, digests)
        if known is not None:
            return known
        order = asked.order(lines, home, config.keyring, digest)
        intent = checkout.preflight(tenant.id, order, config)
    return sales.order(intent.id)


def _present(intent: PaymentIntent, asked: Asked, config: Config) -> Sale:
    intents.check_link(intent.link_generation, generation=0)  # its key is as old as the order
    if not (asked.is_path_of(intent) and asked.is_body_of(intent, config.keyring)):
        raise IdempotencyKeyReused
    intent, _ = sales.look(intent, config)
    sale = sales.present(intent, config)
    if sale is not None:
        return sale
    raise requirements.asking(intent, config)


def _home(lines: Sequence[Line], config: Config) -> int | None:
    """Return the first network of an order that can be used, and has a market. None: it is free.

    The other ones are options: the payment may be on any of them. X402NotEnabled,
    NetworkUnavailable, NoCommonNetwork.
    """
    chain_ids = order_rules.common_chains(lines)
    markets = _markets_of(chain_ids, config)
    known = chains.states_of_all(chain_ids)
    for market in markets:
        try:
            return order_terms.home(lines, market.chain.chain_id, known, config)
        except NetworkUnavailable:
            continue
    if markets:
        raise NetworkUnavailable
    return None


def _product(tenant: Tenant, found: TicketType, config: Config) -> Product:
    url = (config.public_url or "") + goods.path(tenant, found.id)
    return Product(found, _markets_of(found.chain_ids, config), url)


def _markets_of(chain_ids: Sequence[int], config: Config) -> Sequence[Market]:
    """Return the markets among the networks of what costs something. None of them: it is free.

    X402NotEnabled if it has none, or nothing can be bought with x402 at all.
    """
    markets = requirements.markets_of(chain_ids, config)
    if not markets and (chain_ids or not requirements.is_enabled(config)):
        raise X402NotEnabled
    return markets
