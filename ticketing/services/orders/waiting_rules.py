"""When people can wait for a ticket type, and for how long an offer is held."""

from __future__ import annotations

from datetime import datetime, timedelta

from ticketing.constants import Publication
from ticketing.models.events import Event
from ticketing.models.ticket_types import EventStock, TicketType
from ticketing.waiting_list import SHORTEST_OFFER


def offer_time(ticket_type: TicketType, event: Event, now: datetime) -> timedelta:
    """Return how long an offer of now is held. The list is open.

    That is what the organizer set, or half of the time until the list's sale ends, if that is less:
    who does not pay leaves time for the next one.

    Example: 24 hours, and the doors open in 10 hours. An offer is held for 5 hours.
    """
    ends = ticket_type.list_closes_at(event) + 2 * SHORTEST_OFFER
    return min(timedelta(hours=event.waiting_list_hours), (ends - now) / 2)


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

    What unpaid orders hold may come back, but what is sold does not. `event_stock` is that of its
    event, if it has a capacity that the type counts in. `pool`: seats that are given back, and can
    be bought.

    Example: of 10 seats, 8 are sold and 2 held by an order that is not paid. One can try again
    soon, but not wait. When these are paid, one can wait.
    """
    if ticket_type.waiting or (event_stock is not None and event_stock.is_waited_for):
        return True
    limits = [each for each in (ticket_type, event_stock) if each is not None]
    unsold = [each.capacity - each.sold for each in limits if each.capacity is not None]
    return bool(unsold) and min(unsold) + pool < ticket_type.min_per_order
