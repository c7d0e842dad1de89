"""What an x402 client buys: its name, its price in words, and the URL that sells it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ticketing import formats
from ticketing.constants import CURRENCY
from ticketing.models.events import Event
from ticketing.models.payment_intents import Item, PaymentIntent
from ticketing.models.tenants import Tenant
from ticketing.services.orders import items as order_items
from ticketing.services.orders import lines
from ticketing.services.orders.lines import Line
from ticketing.services.x402 import discovery

PATH = "/v1/x402/tenants/{tenant}/tickets/{ticket_id}/orders"
EVENT_PATH = "/v1/x402/tenants/{tenant}/events/{event_id}/orders"

_LONGEST_DESCRIPTION = 300
"""Characters. Clients send the description back in a header, which has its own limit."""


@dataclass(frozen=True)
class Goods:
    """Items of one event, the names of their ticket types, and the total in micro-units."""

    tenant: Tenant
    event: Event
    items: Sequence[Item]
    names: Mapping[str, str]
    amount: int

    @property
    def path(self) -> str:
        """The path on which they are ordered."""
        return path_of(self.tenant, self.event.id, self.items)

    def resource(self, public_url: str) -> dict[str, Any]:
        """Return the x402 resource: what is sold, by whom, and its URL."""
        description = self._description
        if len(description) > _LONGEST_DESCRIPTION:
            description = description[: _LONGEST_DESCRIPTION - 1] + "…"
        return {
            "url": public_url + self.path,
            "description": description,
            "mimeType": "application/json",
            **discovery.service(self.tenant),
        }

    @property
    def extensions(self) -> dict[str, Any]:
        """The x402 extensions: how it is ordered, for directories."""
        is_of_event = self.path == event_path(self.tenant, self.event.id)
        return discovery.extensions(self.items, is_of_event=is_of_event)

    @property
    def _description(self) -> str:
        """What is sold, for people who confirm a payment.

        Examples: "Launch Night, Seat, 2 x 5.00 USDC". "Launch Night, Seat, 1 x 5.00 USDC (2.00 USDC
        of one come back to who came)". "Launch Night, 12.00 USDC in all: 2 x Seat at 5.00 USDC, 1 x
        Child at 2.00 USDC".
        """
        title, (item, *others) = self.event.title, self.items
        if not others:
            price = formats.amount(item.unit_amount, CURRENCY)
            name = self.names[item.ticket_type_id]
            return f"{title}, {name}, {item.quantity} x {price}{_terms_of(item)}"
        listed = ", ".join(
            f"{each.quantity} x {self.names[each.ticket_type_id]}"
            f" at {formats.amount(each.unit_amount, CURRENCY)}{_terms_of(each)}"
            for each in self.items
        )
        # The sum comes first, because many long names are cut.
        return f"{title}, {formats.amount(self.amount, CURRENCY)} in all: {listed}"


def of_order(intent: PaymentIntent) -> Goods:
    """Return what an order has. Its event comes with it."""
    order_items.read([intent])
    return Goods(intent.tenant, intent.event, intent.items, intent.item_names, intent.amount)


def of_lines(tenant: Tenant, wanted: Sequence[Line]) -> Goods:
    """Return what is wanted, at the prices of now."""
    return Goods(
        tenant,
        wanted[0].ticket_type.event,
        [line.item for line in wanted],
        {line.ticket_type.id: line.ticket_type.name for line in wanted},
        lines.amount(wanted),
    )


def path_of(tenant: Tenant, event_id: str, items: Sequence[Item]) -> str:
    """Return the path on which some items are ordered.

    That of a ticket type takes neither several items nor a price that the buyer chooses.
    """
    item, *others = items
    if others or item.unit_amount > item.list_amount:
        return event_path(tenant, event_id)
    return path(tenant, item.ticket_type_id)


def path(tenant: Tenant, ticket_id: str) -> str:
    """Return the path on which x402 clients order a ticket type."""
    return PATH.format(tenant=tenant.slug, ticket_id=ticket_id)


def event_path(tenant: Tenant, event_id: str) -> str:
    """Return the path on which x402 clients order any ticket types of an event."""
    return EVENT_PATH.format(tenant=tenant.slug, event_id=event_id)


def _terms_of(item: Item) -> str:
    """Return on which terms a part of a price comes back, in brackets. Empty: on none."""
    terms = []
    if item.deposit_amount:
        amount = formats.amount(item.deposit_amount, CURRENCY)
        terms.append(f"{amount} of one come back to who came")
    if item.return_fee_percent is not None:
        terms.append(f"can be given back, less {item.return_fee_percent} %, if it is sold on")
    return f" ({'; '.join(terms)})" if terms else ""
