"""Who gets the next offer of an event: the first who wait, but clients with many offers come last.

A client has at most OFFERS_PER_CLIENT unpaid offers of an event at a time (an IPv6 /48 three times
as many), as long as anybody else wants the seats: somebody who waits gets them first, and then they
are on sale for everybody (passed_over.py). If nobody has bought them for an hour, the client gets
one offer more, and that is short (offer_times.py). So no seat waits for the limit.

Example: 20 seats become free. Five entries of one IPv4 address, of 4 seats each, wait first, then
Ada for 1 seat. The address gets two offers, 8 seats for a day. The next offer is Ada's. 11 seats
are on sale for everybody. If they still are an hour later, the third entry of the address gets 4 of
them for three hours, and the fourth one, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from peewee import Expression, ModelSelect, fn

from ticketing import clock
from ticketing.constants import IntentStatus, Publication
from ticketing.limits import OFFERS_PER_CLIENT, PASSED_OVER_FOR, WIDE_FACTOR
from ticketing.models.base import literal
from ticketing.models.events import Event
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.ticket_types import TicketType
from ticketing.models.waiting_list import WaitingListEntry
from ticketing.services.orders import stock
from ticketing.waiting_list import SHORTEST_OFFER, EntryStatus

_NETWORKS = (WaitingListEntry.client, WaitingListEntry.client_site)


@dataclass
class Refused:
    """Who cannot have an offer in this round: entries by id, and digests of clients' networks."""

    entries: list[str] = field(default_factory=list)
    clients: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Candidate:
    """Who gets the next offer. `is_beyond`: their client has as many as it may, or more."""

    entry_id: str
    is_beyond: bool


def next_of(event_id: str, refused: Refused) -> Candidate | None:
    """Return who gets the next offer of an event: the first one whom anything that is free fits.

    None if what is free fits nobody, or only those who come after everybody (see above).
    """
    rooms, full = list(free(event_id)), full_clients(event_id)
    entry = _first(rooms, refused, ~is_of(full | refused.clients))
    if entry is not None or not full:
        return None if entry is None else Candidate(entry.id, is_beyond=False)
    nobody_bought = WaitingListEntry.idle_since <= clock.now() - PASSED_OVER_FOR
    beyond = is_of(full) & ~is_of(refused.clients) & nobody_bought
    entry = _first(rooms, refused, beyond)
    return None if entry is None else Candidate(entry.id, is_beyond=True)


def full_clients(event_id: str) -> set[str]:
    """Return the networks, by digest, that have as many unpaid offers of an event as they may."""
    found: set[str] = set()
    for place, network in enumerate(_NETWORKS):
        open_offers = (
            WaitingListEntry.select(network)
            .join(PaymentIntent)
            .where(
                WaitingListEntry.event == event_id,
                WaitingListEntry.status == literal(EntryStatus.OFFERED),
                PaymentIntent.status == IntentStatus.AWAITING_PAYMENT,
                network.is_null(False),
            )
        )
        most = OFFERS_PER_CLIENT * WIDE_FACTOR**place
        rows: Any = open_offers.group_by(network).having(fn.COUNT(network) >= most).tuples()
        found.update(digest for (digest,) in rows)
    return found


def is_of(clients: Collection[str]) -> Expression:
    """Return the SQL condition that an entry is of one of these networks."""
    narrow, wide = (fn.COALESCE(each, "").in_(sorted(clients)) for each in _NETWORKS)
    return narrow | wide


def free(event_id: str) -> Iterator[tuple[str, int | None]]:
    """Yield ticket types that are waited for, by id, and how many seats of it an order can have.

    None: as many as it wants.
    """
    event = Event.get_by_id(event_id)
    if event.status != Publication.PUBLISHED:
        return
    event_stock, now = stock.of_event(event), clock.now()
    pool_is_open = now <= event.returns_end - SHORTEST_OFFER
    for ticket_type in TicketType.select().where(
        TicketType.event == event_id,
        TicketType.waiting > literal(0),
        TicketType.status == Publication.PUBLISHED,
    ):
        if now >= ticket_type.list_closes_at(event):
            continue
        limits = [ticket_type.available]
        if event_stock is not None and ticket_type.admission:
            limits.append(event_stock.available)
        left = min((each for each in limits if each is not None), default=None)
        pool = ticket_type.in_pool if pool_is_open else 0
        yield ticket_type.id, None if left is None else max(left, pool)


def waiting(ticket_id: str) -> ModelSelect[WaitingListEntry]:
    """Select the entries that wait for a ticket type."""
    found: ModelSelect[WaitingListEntry] = WaitingListEntry.select().where(
        WaitingListEntry.ticket_type == ticket_id,
        WaitingListEntry.status == literal(EntryStatus.WAITING),
    )
    return found


def _first(
    rooms: Collection[tuple[str, int | None]], refused: Refused, condition: Any
) -> WaitingListEntry | None:
    """Return the first of those who wait, whose seats are all free, and for whom this holds."""
    first: list[WaitingListEntry] = []
    for ticket_id, room in rooms:
        found = waiting(ticket_id).where(condition)
        if refused.entries:
            found = found.where(WaitingListEntry.id.not_in(refused.entries))
        if room is not None:
            found = found.where(WaitingListEntry.quantity <= room)
        in_order = found.order_by(WaitingListEntry.confirmed_at, WaitingListEntry.id)
        first.extend(in_order.limit(1))
    return min(first, key=lambda each: (each.confirmed_at, each.id), default=None)
