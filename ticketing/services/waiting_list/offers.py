"""Offer seats that became free to those who wait, and take places and offers back.

An offer is an order: its seats are held, and its price is fixed. It is made in one transaction with
the end of the waiting and the mails about it, so a worker that is killed loses nothing and offers
nothing twice.

Example: Ada waits for 2 seats, then Bob for 1, then Eve for 1. One seat becomes free: it is Bob's,
because Ada's two do not fit. Then two more: they are Ada's. candidates.py has the rule.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import timedelta

from ticketing import clock
from ticketing.config import Config
from ticketing.db.connection import one_at_a_time, write_transaction
from ticketing.errors import EntryEnded, TicketingError, TooMany, WaitingListClosed
from ticketing.models.base import literal
from ticketing.models.ticket_types import TicketType
from ticketing.models.waiting_list import WaitingListEntry
from ticketing.notification_types import MailKind
from ticketing.services import checkout, order_terms
from ticketing.services.channels import Channel
from ticketing.services.leases import LeaseHolder
from ticketing.services.notifications import mail_queue
from ticketing.services.order_requests import Order
from ticketing.services.orders import client_limits, holds, intents, lines, waiting_ends
from ticketing.services.orders.holds import Held
from ticketing.services.orders.lines import Line, Wanted
from ticketing.services.waiting_list import candidates, entries, offer_times, passed_over
from ticketing.services.waiting_list.candidates import Candidate, Refused
from ticketing.waiting_list import EntryStatus

LEASE = "waiting lists"

_MOST_REFUSED = 20
"""Of an event, entries that cannot have an offer now, before the next round tries again."""

log = logging.getLogger(__name__)


class Offering:
    """Offers what is free, while this process has the lease. Each `run` may be interrupted."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._lease = LeaseHolder(LEASE)

    def run(self) -> None:
        """End what has ended, then offer until nothing is left that fits."""
        if not self._lease.keep():
            return
        waiting_ends.forget_unconfirmed()
        waiting_ends.end_offers()
        waiting_ends.end_closed()
        for event_id in _events_waited_for():
            self._serve(event_id)

    def _serve(self, event_id: str) -> None:
        """Offer what is free of an event, one entry at a time: the stock is read again for each."""
        refused = Refused()
        while len(refused.entries) < _MOST_REFUSED and self._lease.keep():
            found = candidates.next_of(event_id, refused)
            if found is None:
                break
            try:
                offer_to(found, self._config)
            except TicketingError as error:
                # A network is not available, or their client had enough today. The next may get it.
                log.info("entry %s waits on: %s", found.entry_id, error.code)
                refused.entries.append(found.entry_id)
                if isinstance(error, TooMany):
                    # The limit may be that of the narrow network alone.
                    refused.clients.update(_client_of(entries.find(found.entry_id))[:1])
        if self._lease.keep():
            full = candidates.full_clients(event_id)
            passed_over.update(event_id, full | refused.clients)

    def leave(self) -> None:
        """Release the lease, so that another worker can continue at once."""
        self._lease.give_back()


class Offer(Channel):
    """An offer to somebody who waited. Its order is held as long as it says.

    It comes before buyers. The only limit of its client that applies is the one for free seats. The
    questions of the event do not block it.
    """

    comes_first = True

    def __init__(self, client: Sequence[str], held_for: timedelta) -> None:
        self.client, self._held_for = client, held_for

    def begin(self, wanted: Sequence[Line], text_bytes: int, config: Config) -> None:
        """Check how many free seats the client has. TooManyFree."""
        client_limits.take_turn(self.client, config)
        free_seats = lines.free_seats(wanted)
        if self.client and free_seats:
            event_id = wanted[0].ticket_type.event_id
            client_limits.check(self.client, event_id, free_seats, free_seats, config)

    def hold(self, held: Held, config: Config) -> timedelta:
        """Return for how long the order is held."""
        return self._held_for


def offer(entry_id: str, config: Config) -> None:
    """Make the order of somebody who waits, out of turn, and plan the mails about it.

    NotFound. EntryEnded if they do not wait. WaitingListClosed. SoldOut, and what checkout.place
    raises.
    """
    _offer(entry_id, config, candidate=None)


def offer_to(candidate: Candidate, config: Config) -> None:
    """Make the order of who is next. Nothing happens if they are not next any more.

    What `offer` raises.
    """
    _offer(candidate.entry_id, config, candidate)


def _offer(entry_id: str, config: Config, candidate: Candidate | None) -> None:
    """Offer seats. `candidate`: it is their turn. None: it is out of turn."""
    found = entries.find(entry_id)
    wanted = Wanted(found.ticket_type_id, found.quantity)
    read = holds.lines_on_sale(found.tenant_id, found.event_id, (wanted,))
    known = order_terms.states_for(read)
    with write_transaction():
        one_at_a_time(f"offers of {found.event_id}")
        event, entry = entries.lock(entry_id)
        if entry.status != EntryStatus.WAITING:
            raise EntryEnded
        now, ticket_type = clock.now(), read[0].ticket_type
        if now >= ticket_type.list_closes_at(event):
            raise WaitingListClosed
        is_short = offer_times.are_short(event.id)
        if candidate is not None:
            full = candidates.full_clients(event.id)
            is_beyond = not full.isdisjoint(_client_of(entry))
            if is_beyond and not candidate.is_beyond:
                return  # another worker made an offer to the same client meanwhile
            is_short = is_short or is_beyond
        held_for = offer_times.offer_time(ticket_type, event, now, is_short=is_short)
        order = Order(
            event_id=event.id,
            wanted=(wanted,),
            by=Offer(_client_of(entry), held_for),
            buyer_email=entry.email,
            buyer_name=entry.name,
            locale=entry.locale,
        )
        made = checkout.place(read, known, order, config)
        entries.count(event, entry, -1)
        entries.change(
            entry,
            status=EntryStatus.OFFERED,
            idle_since=None,
            intent=made.id,
            offered_at=now,
            offer_expires_at=made.expires_at,
        )
        half = now + (made.expires_at - now) / 2
        mail_queue.add(
            [
                mail_queue.new(entry.tenant_id, MailKind.WAITING_LIST_OFFER, entry.id),
                mail_queue.new(
                    entry.tenant_id,
                    MailKind.WAITING_LIST_REMINDER,
                    entry.id,
                    next_attempt_at=half,
                ),
            ]
        )
    log.info("entry %s is offered %s", entry_id, made.id)


def leave(entry_id: str, config: Config, client: Sequence[str] = ()) -> None:
    """Give a place up, or what was offered. Nothing is kept of who waited. A repeat is no error.

    What `withdraw` and entries.end raise. NotFound, too, if the order's first links have ended.
    """
    found = entries.find(entry_id)
    if found.intent is not None:
        intents.check_link(found.intent.link_generation, generation=0)
    withdraw(entry_id, config, client)
    entries.end(entry_id)


def withdraw(entry_id: str, config: Config, client: Sequence[str] = ()) -> None:
    """Cancel the order that was offered, if there is one and it is not paid.

    `client` as for checkout.cancel. NotFound. IntentNotCancelable, ChainUnavailable, NodesBusy.
    Call it outside a transaction: it reads the chain.
    """
    found = entries.find(entry_id)
    if found.status == EntryStatus.OFFERED:
        checkout.cancel(found.tenant_id, found.intent_id or "", config, client)


def _client_of(entry: WaitingListEntry) -> list[str]:
    """Return the digests of the networks from which somebody joined, from narrow to wide."""
    return [each for each in (entry.client, entry.client_site) if each]


def _events_waited_for() -> Sequence[str]:
    """Return the events for which somebody waits."""
    found = TicketType.select(TicketType.event).distinct()
    return [each.event_id for each in found.where(TicketType.waiting > literal(0))]
