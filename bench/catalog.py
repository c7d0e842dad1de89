"""An event on sale in the open database, for measurements without the API."""

from datetime import datetime
from typing import Any

from ticketing import clock, ids
from ticketing.models.events import Event
from ticketing.models.tenants import Tenant
from ticketing.models.ticket_types import TicketType


def put_on_sale(tenant: Tenant, start_at: datetime, **fields: Any) -> TicketType:
    """Create a published event with one ticket type. `fields` are those of the ticket type."""
    now = clock.now()
    event = Event.create(
        id=ids.new(ids.EVENT),
        tenant=tenant,
        title="Event",
        slug="event",
        description="",
        type="in_person",
        start_at=start_at,
        timezone="UTC",
        status="published",
        created_at=now,
        updated_at=now,
    )
    ticket_type: TicketType = TicketType.create(
        id=ids.new(ids.TICKET_TYPE),
        tenant=tenant,
        event=event,
        name="Ticket",
        transferable=True,
        status="published",
        min_per_order=1,
        max_per_order=10,
        created_at=now,
        updated_at=now,
        **fields,
    )
    return ticket_type
