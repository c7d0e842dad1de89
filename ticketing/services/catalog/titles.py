"""The titles of events and the names of ticket types, for lists of orders and admissions."""

from __future__ import annotations

from collections.abc import Sequence

from ticketing.models.admissions import Admission
from ticketing.models.base import holds_text
from ticketing.models.events import Event
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.ticket_types import TicketType

MOST = 100
"""How many events one can choose from."""

_OF_EVENT = (Event.id, Event.tenant, Event.title, Event.timezone, Event.start_at, Event.status)


def latest_events(tenant_id: str) -> Sequence[Event]:
    """Return a tenant's latest events, the newest first, with few of their fields."""
    of_tenant = Event.select(*_OF_EVENT).where(Event.tenant == tenant_id)
    return list(of_tenant.order_by(Event.id.desc()).limit(MOST))


def named(tenant_id: str, text: str, most: int) -> Sequence[Event]:
    """Return the latest events with this text in the title, ASCII letters in any case."""
    found = Event.select(*_OF_EVENT).where(Event.tenant == tenant_id, holds_text(Event.title, text))
    return list(found.order_by(Event.id.desc()).limit(most))


def add_to(rows: Sequence[PaymentIntent] | Sequence[Admission]) -> None:
    """Set the event and the ticket type of orders or admissions, with few of their fields."""
    events = {
        each.id: each
        for each in Event.select(*_OF_EVENT).where(Event.id.in_([row.event_id for row in rows]))
    }
    of_rows = TicketType.id.in_([row.ticket_type_id for row in rows])
    ticket_types = {
        each.id: each for each in TicketType.select(TicketType.id, TicketType.name).where(of_rows)
    }
    for row in rows:
        row.event = events[row.event_id]
        row.ticket_type = ticket_types[row.ticket_type_id]
