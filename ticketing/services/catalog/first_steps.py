"""How far a new tenant has come on the way to its first sale."""

from __future__ import annotations

from dataclasses import dataclass

from ticketing.constants import IntentStatus, Publication
from ticketing.models.events import Event
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.tenants import Tenant
from ticketing.models.ticket_types import TicketType


@dataclass(frozen=True)
class FirstSteps:
    """What a tenant that has sold nothing has done. `event` and `ticket_type` are the newest."""

    has_wallet: bool
    event: Event | None
    ticket_type: TicketType | None

    @property
    def is_published(self) -> bool:
        """Whether both are published."""
        newest = (self.event, self.ticket_type)
        return all(each is not None and each.status == Publication.PUBLISHED for each in newest)


def left(tenant: Tenant) -> FirstSteps | None:
    """Return how far a tenant has come. None if an order of it was ever confirmed."""
    sold = PaymentIntent.select(PaymentIntent.id).where(
        PaymentIntent.tenant == tenant.id, PaymentIntent.status == IntentStatus.CONFIRMED
    )
    if sold.exists():
        return None
    event: Event | None = (
        Event.select().where(Event.tenant == tenant.id).order_by(Event.id.desc()).first()
    )
    return FirstSteps(
        tenant.wallet_id is not None, event, None if event is None else _newest_of(event)
    )


def _newest_of(event: Event) -> TicketType | None:
    of_event = TicketType.select().where(TicketType.event == event.id)
    newest: TicketType | None = of_event.order_by(TicketType.id.desc()).first()
    return newest
