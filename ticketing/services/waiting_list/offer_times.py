"""For how long an offer to somebody who waited is held."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from ticketing.limits import SHORT_OFFER, UNPAID_OFFERS
from ticketing.models.base import literal
from ticketing.models.events import Event
from ticketing.models.ticket_types import TicketType
from ticketing.models.waiting_list import WaitingListEntry
from ticketing.waiting_list import DAY_BEGINS, DAY_ENDS, SHORTEST_OFFER, EntryStatus


def offer_time(
    ticket_type: TicketType, event: Event, now: datetime, *, is_short: bool
) -> timedelta:
    """Return how long an offer of now is held. The list is open.

    That is what the organizer set, or half of the time until the list's sale ends, if that is less:
    who does not pay leaves time for the next one. `is_short`: no longer than SHORT_OFFER.

    Example: 24 hours, and the doors open in 10 hours. An offer is held for 5 hours.
    """
    ends = ticket_type.list_closes_at(event) + 2 * SHORTEST_OFFER
    longest = min(timedelta(hours=event.waiting_list_hours), (ends - now) / 2)
    return min(longest, short_end(now, ZoneInfo(event.timezone)) - now) if is_short else longest


def short_end(now: datetime, zone: ZoneInfo) -> datetime:
    """Return when a short offer of now ends, in the time zone of its event.

    The hours from DAY_ENDS to DAY_BEGINS do not count, because most people sleep.

    Examples: an offer of 14:00 ends at 17:00. One of 21:00 ends at 10:00 on the next day: an hour
    counts before the night, and two after it. One of 2:00 ends at 11:00.
    """
    local = now.astimezone(zone)
    if local.hour >= DAY_ENDS:
        local += timedelta(days=1)
    begins = local.replace(hour=DAY_BEGINS, minute=0, second=0, microsecond=0)
    starts = max(now, begins.astimezone(now.tzinfo))
    night = begins.replace(hour=DAY_ENDS).astimezone(now.tzinfo)
    left = max(timedelta(), starts + SHORT_OFFER - night)
    if not left:
        return starts + SHORT_OFFER
    return (begins + timedelta(days=1)).astimezone(now.tzinfo) + left


def hours(event: Event) -> int:
    """Return for how many hours an offer of now is held at the longest. The night may add some."""
    set_hours: int = event.waiting_list_hours
    return min(set_hours, SHORT_OFFER // timedelta(hours=1)) if are_short(event.id) else set_hours


def are_short(event_id: str) -> bool:
    """Return whether too many of an event's offers were not paid, so that new ones are short.

    Of its newest offers that have ended, by UNPAID_OFFERS. An offer that was given up, or that the
    organizer canceled, was not paid either.

    Example: of the last four, two expired and one was given up. The next offers are short until two
    of the last four were paid, and four of the last twelve.
    """
    ended = WaitingListEntry.select(WaitingListEntry.status).where(
        WaitingListEntry.event == event_id,
        WaitingListEntry.offered_at.is_null(False),
        WaitingListEntry.status != literal(EntryStatus.OFFERED),
    )
    most = max(of for _, of in UNPAID_OFFERS)
    rows: Any = ended.order_by(WaitingListEntry.offered_at.desc()).limit(most).tuples()
    unpaid = [status != EntryStatus.ORDERED for (status,) in rows]
    return any(sum(unpaid[:of]) >= number for number, of in UNPAID_OFFERS)
