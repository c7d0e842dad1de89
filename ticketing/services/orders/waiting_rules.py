"""When people can wait for a ticket type."""

from __future__ import annotations

from datetime import datetime

from ticketing.constants import Publication
from ticketing.models.events import Event
from ticketing.models.ticket_types import EventStock, TicketType


def is_open(ticket_type: TicketType, event: Event, now: datetime) -> bool:
    """Return whether people can wait for a ticket type, if it is sold out.

    Only for what everybody can see and buy: an offer is made with no code, key or other ticket.
    """
    starts: datetime | None = ticket_type.sales_start_at
    return (
        bool(ticket_type.allow_waitinglist)
        and ticket_type.status == event.status == Publication.PUBLISHED
        and not (
            ticket_type.require_voucher
            or ticket_type.requires_ticket
            or ticket_type.free_price
            or ticket_type.requires_key
        )
        and (starts is None or starts <= now)
        and now < ticket_type.list_closes_at(event)
    )


def is_needed(ticket_type: TicketType, event_stock: EventStock | None, pool: int) -> bool:
    """Return whether one has to wait for a ticket type: others do, or too few are not sold yet.

    Others who leave the sale open do not count: see services/waiting_list/passed_over.py.

    What unpaid orders hold may come back, but what is sold does not. `event_stock` is that of its
    event, if it has a capacity that the type counts in. `pool`: seats that are given back, and can
    be bought.

    Example: of 10 seats, 8 are sold and 2 held by an order that is not paid. One can try again
    soon, but not wait. When these are paid, one can wait.
    """
    if ticket_type.is_waited_for or (event_stock is not None and event_stock.is_waited_for):
        return True
    limits = [each for each in (ticket_type, event_stock) if each is not None]
    unsold = [each.capacity - each.sold for each in limits if each.capacity is not None]
    return bool(unsold) and min(unsold) + pool < ticket_type.min_per_order
