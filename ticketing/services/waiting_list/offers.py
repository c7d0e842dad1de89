"""Offer seats that became free to those who wait, and take places and offers back.

An offer is an order: its seats are held, and its price is fixed. It is made in one transaction with
the end of the waiting and the mails about it, so a worker that is killed loses nothing and offers
nothing twice.

Example: Ada waits for 2 seats, then Bob for 1, then Eve for 1. One seat becomes free: it is Bob's,
because Ada's two do not fit. Then two more: they are Ada's.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

from peewee import ModelSelect

from ticketing import clock
from ticketing.config import Config
from ticketing.constants import Publication
from ticketing.db.connection import write_transaction
from ticketing.errors import EntryEnded, TicketingError, WaitingListClosed
from ticketing.models.base import literal
from ticketing.models.events import Event
from ticketing.models.ticket_types import TicketType
from ticketing.models.waiting_list import WaitingListEntry
from ticketing.notification_types import MailKind
from ticketing.services import checkout, order_terms
from ticketing.services.leases import LeaseHolder
from ticketing.services.notifications import mail_queue
from ticketing.services.order_requests import Order
from ticketing.services.orders import holds, intents, stock, waiting_ends, waiting_rules
from ticketing.services.orders.lines import Wanted
from ticketing.services.waiting_list import entries
from ticketing.waiting_list import SHORTEST_OFFER, EntryStatus

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
        refused: list[str] = []
        while len(refused) < _MOST_REFUSED and self._lease.keep():
            entry = _next(event_id, refused)
            if entry is None:
                return
            try:
                offer(entry.id, self._config)
            except TicketingError as error:
                # A network is not available, or their client had enough today. The next may get it.
                log.info("entry %s waits on: %s", entry.id, error.code)
                refused.append(entry.id)

    def leave(self) -> None:
        """Release the lease, so that another worker can continue at once."""
        self._lease.give_back()


def offer(entry_id: str, config: Config) -> None:
    """Make the order of somebody who waits, and plan the mails about it.

    NotFound. EntryEnded if they do not wait. WaitingListClosed. SoldOut, and what checkout.offer
    raises.
    """
    found = entries.find(entry_id)
    wanted = Wanted(found.ticket_type_id, found.quantity)
    read = holds.lines_on_sale(found.tenant_id, found.event_id, (wanted,))
    known = order_terms.states_for(read)
    with write_transaction():
        event, entry = entries.lock(entry_id)
        if entry.status != EntryStatus.WAITING:
            raise EntryEnded
        now, ticket_type = clock.now(), read[0].ticket_type
        if now >= ticket_type.list_closes_at(event):
            raise WaitingListClosed
        made = checkout.offer(
            read,
            known,
            Order(
                event_id=event.id,
                wanted=(wanted,),
                client=[each for each in (entry.client, entry.client_site) if each],
                buyer_email=entry.email,
                buyer_name=entry.name,
                locale=entry.locale,
                offered_for=waiting_rules.offer_time(ticket_type, event, now),
            ),
            config,
        )
        entries.count(event, entry, -1)
        entries.change(
            entry,
            status=EntryStatus.OFFERED,
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


def _events_waited_for() -> Sequence[str]:
    """Return the events for which somebody waits."""
    found = TicketType.select(TicketType.event).distinct()
    return [each.event_id for each in found.where(TicketType.waiting > literal(0))]


def _next(event_id: str, without: Sequence[str]) -> WaitingListEntry | None:
    """Return who gets the next offer of an event: the first one whom anything that is free fits."""
    found = (_first(ticket_id, room, without) for ticket_id, room in _free(event_id))
    return min(
        (each for each in found if each is not None),
        key=lambda each: (each.confirmed_at, each.id),
        default=None,
    )


def _free(event_id: str) -> Iterator[tuple[str, int | None]]:
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


def _first(ticket_id: str, room: int | None, without: Sequence[str]) -> WaitingListEntry | None:
    """Return the first of those who wait for a ticket type, whose seats are all free."""
    waiting: ModelSelect[WaitingListEntry] = WaitingListEntry.select().where(
        WaitingListEntry.ticket_type == ticket_id,
        WaitingListEntry.status == literal(EntryStatus.WAITING),
    )
    if without:
        waiting = waiting.where(WaitingListEntry.id.not_in(list(without)))
    if room is not None:
        waiting = waiting.where(WaitingListEntry.quantity <= room)
    order = (WaitingListEntry.confirmed_at, WaitingListEntry.id)
    found: WaitingListEntry | None = waiting.order_by(*order).first()
    return found
