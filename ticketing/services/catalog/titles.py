"""The titles of events and the names of ticket types, for lists of orders and admissions."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ticketing.models.admissions import Admission
from ticketing.models.base import holds_text
from ticketing.models.events import Event
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.ticket_types import TicketType

MOST = 100
"""How many events one can choose from."""

_OF_EVENT = (Event.id, Event.tenant, Event.title, Event.timezone, Event.start_at, Event.status)


def latest_events(tenant_id: str, event_ids: Collection[str] | None) -> Sequence[Event]:
    """Return a tenant's latest events, the newest first, with few of their fields.

    `event_ids`: only these.
    """
    of_tenant = Event.select(*_OF_EVENT).where(Event.tenant == tenant_id)
    if event_ids is not None:
        of_tenant = of_tenant.where(Event.id.in_(list(event_ids)))
    return list(of_tenant.order_by(Event.id.desc()).limit(MOST))


def to_choose(tenant_id: str, chosen: Collection[str]) -> Sequence[Event]:
    """Return a tenant's latest events and those that are chosen already, the newest first."""
    latest = latest_events(tenant_id, None)
    shown = {each.id for each in latest}
    others = [each for each in chosen if each not in shown]
    return [*latest, *latest_events(tenant_id, others)] if others else latest


def named(
    tenant_id: str, text: str, most: int, event_ids: Collection[str] | None
) -> Sequence[Event]:
    """Return the latest events with this text in the title, ASCII letters in any case.

    `event_ids`: only of these.
    """
    found = Event.select(*_OF_EVENT).where(Event.tenant == tenant_id, holds_text(Event.title, text))
    if event_ids is not None:
        found = found.where(Event.id.in_(list(event_ids)))
    return list(found.order_by(Event.id.desc()).limit(most))


def add_to(rows: Sequence[PaymentIntent] | Sequence[Admission]) -> None:
    """Set the event of orders or admissions, with few of its fields."""
    events = {
        each.id: each
        for each in Event.select(*_OF_EVENT).where(Event.id.in_([row.event_id for row in rows]))
    }
    for row in rows:
        row.event = events[row.event_id]


def add_types_to(admissions: Sequence[Admission]) -> None:
    """Set the ticket type of admissions, with its name only."""
    of_rows = TicketType.id.in_([row.ticket_type_id for row in admissions])
    named = {
        each.id: each for each in TicketType.select(TicketType.id, TicketType.name).where(of_rows)
    }
    for row in admissions:
        row.ticket_type = named[row.ticket_type_id]
