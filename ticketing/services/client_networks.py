"""Who takes what of an event without paying, by network, and how an organizer ends it.

A network is an IPv4 address or an IPv6 /48. The service stores a keyed digest of it, and of people
in a waiting room a number of it: enough to add up, and not to find out whose it is. Requests with a
credential have none.

Example: the network 3f2a90c1 holds 40 seats in eight unpaid orders, and 12 more in offers of the
waiting list. `cancel` cancels the orders and offers on which no money was seen, ends its places on
the list, and lets its people come last in the waiting room.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from peewee import Case, Expression, ModelSelect, fn

from ticketing.config import Config
from ticketing.credentials import Keyring
from ticketing.errors import NotFound, TicketingError
from ticketing.models.base import UtcDateTimeField, literal
from ticketing.models.events import Event
from ticketing.models.payment_intents import AWAITING, PaymentIntent
from ticketing.models.waiting_list import WaitingListEntry
from ticketing.services.access.blocked_networks import NAME_LENGTH
from ticketing.services.catalog import events
from ticketing.services.orders import crowds
from ticketing.services.payments import settlement
from ticketing.services.waiting_list import entries
from ticketing.services.waiting_room import networks, places, turns
from ticketing.waiting_list import OPEN, EntryStatus

MOST_SHOWN = 100

_ID = re.compile("([a-z0-9_:]{1,64}:)?[0-9a-f]{64}|n[0-9]{1,6}")

_instant: Callable[[Any], Any] = UtcDateTimeField().python_value

_OF_ORDER = fn.COALESCE(PaymentIntent.held_by_site, PaymentIntent.held_by)
_OF_ENTRY = fn.COALESCE(WaitingListEntry.client_site, WaitingListEntry.client)
_IS_UNPAID = AWAITING & (PaymentIntent.books_version == 0)


@dataclass
class ClientNetwork:
    """What one network has of an event. `id`: its digest, or `n` and its number in the room.

    `held`: seats of unpaid orders, `offered`: of those that are offers of the waiting list.
    `crowd`: its network, if the organizer has named it (services/orders/crowds.py).
    `waiting`: its places there that have no offer. `came`: how many people of it the waiting room
    has counted. `turns`: how many may order now. `is_last`: its people come after the others.
    """

    id: str
    orders: int = 0
    held: int = 0
    offers: int = 0
    offered: int = 0
    waiting: int = 0
    came: int = 0
    turns: int = 0
    is_last: bool = False
    crowd: str | None = None
    times: list[datetime] = field(default_factory=list)

    @property
    def name(self) -> str:
        """That of the crowd, or a short name: eight digits of the digest, or the number."""
        return self.crowd or self.id.rpartition(":")[2][:NAME_LENGTH]

    @property
    def first_at(self) -> datetime | None:
        """When the first of its orders and places was made."""
        return min(self.times, default=None)

    @property
    def last_at(self) -> datetime | None:
        """When the last one was made."""
        return max(self.times, default=None)


@dataclass(frozen=True)
class Canceled:
    """What `cancel` has ended, and how many orders and places it left, because money was seen."""

    orders: int
    places: int
    turns: int
    left: int


def of_event(tenant_id: str, event_id: str, config: Config) -> list[ClientNetwork]:
    """Return the networks with most of an event, the largest first, at most MOST_SHOWN. NotFound.

    Those with most seats come first, then those with most places, then those with most people.
    """
    event = events.get(tenant_id, event_id)
    found: dict[str, ClientNetwork] = {}
    named = {crowds.digest(event, each, config): each["network"] for each in event.crowds}

    def network(digest: str) -> ClientNetwork:
        return found.setdefault(digest, ClientNetwork(digest, crowd=named.get(digest)))

    for digest, orders, seats, offers, offered, first, last in _orders(event.id):
        of = network(digest)
        of.orders, of.held = orders - offers, seats - offered
        of.offers, of.offered = offers, offered
        of.times += [_instant(first), _instant(last)]
    for digest, waiting, first, last in _entries(event.id):
        of = network(digest)
        of.waiting = waiting
        of.times += [_instant(first), _instant(last)]
    for digest, going in networks.turns(event.id).items():
        network(digest).turns = going
    _add_people(event, found, config.keyring)
    return sorted(
        found.values(),
        key=lambda each: (
            -(each.held + each.offered),
            -each.waiting,
            -each.came,
            -each.turns,
            each.id,
        ),
    )[:MOST_SHOWN]


def cancel(tenant_id: str, event_id: str, network_id: str, keyring: Keyring) -> Canceled:
    """Cancel what a network has of an event and did not pay. A repeat changes nothing. NotFound.

    Nobody looks at the chain before: money that arrives later is owed back. Each order and place
    ends in a transaction of its own, so call it outside of one.
    """
    event = events.get(tenant_id, event_id)
    if _ID.fullmatch(network_id) is None:
        raise NotFound("This network does not exist.")
    if network_id.startswith("n"):
        return Canceled(0, 0, turns.bar(event.id, int(network_id[1:]), ()), 0)
    orders = places_ended = left = 0
    of_event: Expression = (PaymentIntent.event == event.id) & _IS_UNPAID
    unpaid = PaymentIntent.select(PaymentIntent.id).where(of_event, network_id == _OF_ORDER)
    for intent_id in _ids(unpaid):
        is_done = _done(settlement.cancel, intent_id)
        orders, left = orders + is_done, left + (not is_done)
    waiting = WaitingListEntry.select(WaitingListEntry.id).where(
        WaitingListEntry.event == event.id,
        WaitingListEntry.status.in_([literal(each) for each in OPEN]),
        network_id == _OF_ENTRY,
    )
    for entry_id in _ids(waiting):
        is_done = _done(entries.end, entry_id)
        places_ended, left = places_ended + is_done, left + (not is_done)
    if crowds.is_of_crowd(network_id):
        return Canceled(orders, places_ended, 0, left)  # its places are of its people's addresses
    number = places.drawn(event.id, network_id, keyring.current).network
    ended = turns.bar(event.id, number, [network_id])
    return Canceled(orders, places_ended, ended, left)


def _orders(event_id: str) -> Sequence[Any]:
    """Return what each network holds, with the orders that are offers of the waiting list."""
    offers = WaitingListEntry.select(WaitingListEntry.intent).where(
        WaitingListEntry.event == event_id,
        WaitingListEntry.status == literal(EntryStatus.OFFERED),
    )
    is_offer = PaymentIntent.id.in_(offers)
    found = (
        PaymentIntent.select(
            _OF_ORDER,
            fn.COUNT(PaymentIntent.id),
            fn.SUM(PaymentIntent.quantity),
            fn.SUM(Case(None, [(is_offer, 1)], 0)),
            fn.SUM(Case(None, [(is_offer, PaymentIntent.quantity)], 0)),
            fn.MIN(PaymentIntent.created_at),
            fn.MAX(PaymentIntent.created_at),
        )
        .where(PaymentIntent.event == event_id, _IS_UNPAID, PaymentIntent.held_by.is_null(False))
        .group_by(_OF_ORDER)
    )
    rows: Sequence[Any] = list(found.tuples())
    return rows


def _entries(event_id: str) -> Sequence[Any]:
    """Return how many places without an offer each network has."""
    is_waiting = [literal(each) for each in (EntryStatus.UNCONFIRMED, EntryStatus.WAITING)]
    created = WaitingListEntry.created_at
    found = (
        WaitingListEntry.select(
            _OF_ENTRY, fn.COUNT(WaitingListEntry.id), fn.MIN(created), fn.MAX(created)
        )
        .where(
            WaitingListEntry.event == event_id,
            WaitingListEntry.status.in_(is_waiting),
            WaitingListEntry.client.is_null(False),
        )
        .group_by(_OF_ENTRY)
    )
    rows: Sequence[Any] = list(found.tuples())
    return rows


def _add_people(event: Event, found: dict[str, ClientNetwork], keyring: Keyring) -> None:
    """Add whom the waiting room has counted, those of networks that have nothing else, too."""
    largest = networks.largest(event.id, MOST_SHOWN)
    barred = networks.barred(event.id)
    if not (largest or barred):
        return
    numbers = {places.drawn(event.id, each, keyring.current).network: each for each in found}
    came = {**largest, **networks.people(event.id, numbers)}
    marks = {int(each[1:]) for each in barred}
    for number in {*came, *marks}:
        digest = numbers.get(number, f"n{number}")
        of = found.setdefault(digest, ClientNetwork(digest))
        of.came, of.is_last = came.get(number, 0), number in marks


def _ids(found: ModelSelect[Any]) -> list[str]:
    rows: Any = found.tuples()
    return sorted(row_id for (row_id,) in rows)


def _done(end: Callable[[str], Any], row_id: str) -> bool:
    """End an order or a place. False: money was seen meanwhile, or it has ended otherwise."""
    try:
        end(row_id)
    except TicketingError:
        return False
    return True
