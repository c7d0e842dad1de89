"""How far a tenant has come on the way to its first sale, and to money that it can spend.

The money of an address is proved last: a purchase, a collection, and the organizer's word that they
can spend what arrived. Example, of a tenant that sells tickets for 5 USDC:

    nothing sold yet                         the steps are shown
    the organizer bought a ticket            they are shown: the money is at the order's address
    the worker has read its collection       they are shown: "can you spend it?"
    the organizer pressed "I can spend it"   None, for ever
"""

from __future__ import annotations

from dataclasses import dataclass

from peewee import ModelSelect

from ticketing.constants import IntentStatus, Publication
from ticketing.models.collections import Collection
from ticketing.models.events import Event
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.tenants import Tenant
from ticketing.models.ticket_types import TicketType
from ticketing.models.wallets import Wallet


@dataclass(frozen=True)
class FirstSteps:
    """What a tenant has done, while something is left. `event` and `ticket_type` are the newest.

    `is_free`: it has ticket types, and none has a price. Then nothing needs a wallet.
    `has_collected`: a receiver of an order has passed its money on.
    """

    wallet: Wallet | None
    event: Event | None
    ticket_type: TicketType | None
    is_free: bool
    has_sold: bool
    has_collected: bool

    @property
    def is_published(self) -> bool:
        """Whether both are published."""
        newest = (self.event, self.ticket_type)
        return all(each is not None and each.status == Publication.PUBLISHED for each in newest)


def left(tenant: Tenant) -> FirstSteps | None:
    """Return how far a tenant has come. None if nothing is left."""
    was_credited = (Wallet.tenant_id == tenant.id) & Wallet.credited_at.is_null(False)
    if Wallet.select().where(was_credited).exists():
        return None
    wallet = None if tenant.wallet_id is None else Wallet.get_by_id(tenant.wallet_id)
    is_free = _is_free(tenant)
    has_sold = _sold(tenant, is_free=is_free).exists()
    if has_sold and (is_free or wallet is None):
        return None
    event: Event | None = (
        Event.select().where(Event.tenant == tenant.id).order_by(Event.id.desc()).first()
    )
    of_tenant = Collection.select().join(PaymentIntent).where(PaymentIntent.tenant == tenant.id)
    return FirstSteps(
        wallet,
        event,
        None if event is None else _newest_of(event),
        is_free,
        has_sold,
        has_sold and of_tenant.where(Collection.canonical).exists(),
    )


def _is_free(tenant: Tenant) -> bool:
    """Return whether a tenant has ticket types, of which none has a price."""
    of_tenant = TicketType.select().where(TicketType.tenant == tenant.id)
    has_price = of_tenant.where(TicketType.price_amount > 0).exists()
    return not has_price and bool(of_tenant.exists())


def _sold(tenant: Tenant, *, is_free: bool) -> ModelSelect[PaymentIntent]:
    """Select the confirmed orders. A free one proves nothing where tickets have a price."""
    sold = PaymentIntent.select(PaymentIntent.id).where(
        PaymentIntent.tenant == tenant.id, PaymentIntent.status == IntentStatus.CONFIRMED
    )
    return sold if is_free else sold.where(PaymentIntent.amount > 0)


def _newest_of(event: Event) -> TicketType | None:
    of_event = TicketType.select().where(TicketType.event == event.id)
    newest: TicketType | None = of_event.order_by(TicketType.id.desc()).first()
    return newest
