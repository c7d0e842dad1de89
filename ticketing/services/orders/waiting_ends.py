"""What ends places of a waiting list: a canceled sale, the end of a list, and the end of an offer.

Who ends without an offer is told by mail. Then nothing of them is kept but that they waited.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from peewee import Expression

from ticketing import clock
from ticketing.constants import LIVE, SOLD, IntentStatus
from ticketing.db.connection import locked, write_transaction
from ticketing.models.base import literal
from ticketing.models.events import Event
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.ticket_types import TicketType
from ticketing.models.waiting_list import WaitingListEntry
from ticketing.notification_types import MailKind
from ticketing.services import event_locks
from ticketing.services.notifications import mail_queue
from ticketing.services.orders import stock
from ticketing.waiting_list import UNCONFIRMED_FOR, EntryStatus

AT_ONCE = 500

NOBODY = {"email": None, "mailbox": None, "name": None, "client": None, "client_site": None}
"""The columns of an entry without its person."""


def cancel(event: Event, of: Expression) -> None:
    """Cancel the entries of ticket types that are sold no more, and tell who waited.

    `of` selects the ticket types of a locked event. Their orders are canceled by sale_locks.py.
    """
    WaitingListEntry.delete().where(
        WaitingListEntry.event == event.id,
        WaitingListEntry.ticket_type.in_(TicketType.select(TicketType.id).where(of)),
        WaitingListEntry.status == EntryStatus.UNCONFIRMED,
    ).execute()
    for ticket_type in list(TicketType.select().where(of)):
        if ticket_type.waiting:
            _end_all(event, ticket_type, EntryStatus.CANCELED)


def end_closed() -> None:
    """End the entries of lists that have closed, of some ticket types."""
    now = clock.now()
    waited_for = TicketType.select(TicketType, Event).join(Event)
    for ticket_type in list(waited_for.where(TicketType.waiting > literal(0))):
        if now >= ticket_type.list_closes_at(ticket_type.event):
            with write_transaction():
                event = event_locks.keep(ticket_type.tenant_id, ticket_type.event_id)
                _end_all(event, ticket_type, EntryStatus.EXPIRED)


def end_offers() -> int:
    """End some entries whose offer was paid or has ended. Return how many."""
    found = (
        WaitingListEntry.select(WaitingListEntry.id, PaymentIntent.status)
        .join(PaymentIntent)
        .where(
            WaitingListEntry.status == literal(EntryStatus.OFFERED),
            PaymentIntent.status.not_in(LIVE),
        )
        .limit(AT_ONCE)
        .tuples()
    )
    rows: Any = found
    ended = [(entry_id, _ended(IntentStatus(status))) for entry_id, status in rows]
    for status in {status for _, status in ended}:
        of_status = [entry_id for entry_id, each in ended if each is status]
        WaitingListEntry.update(status=status).where(
            WaitingListEntry.id.in_(of_status), WaitingListEntry.status == EntryStatus.OFFERED
        ).execute()
    return len(ended)


def forget_unconfirmed() -> int:
    """Delete the entries whose address was not confirmed in time. Return how many."""
    deleted = WaitingListEntry.delete().where(
        WaitingListEntry.status == literal(EntryStatus.UNCONFIRMED),
        WaitingListEntry.created_at < clock.now() - UNCONFIRMED_FOR,
    )
    return int(deleted.execute())


def _ended(status: IntentStatus) -> EntryStatus:
    """Return what an entry is whose order has ended like this."""
    if status in SOLD:
        return EntryStatus.ORDERED
    return EntryStatus.CANCELED if status is IntentStatus.CANCELED else EntryStatus.EXPIRED


def _end_all(event: Event, ticket_type: TicketType, status: EntryStatus) -> None:
    """End all entries that wait for a ticket type. Its event is kept as it is."""
    waiting = WaitingListEntry.select().where(
        WaitingListEntry.ticket_type == ticket_type.id,
        WaitingListEntry.status == EntryStatus.WAITING,
    )
    found = list(locked(waiting.order_by(WaitingListEntry.id)))
    if not found:
        return
    mail_queue.add(_mails(found))
    of_them = WaitingListEntry.id.in_([each.id for each in found])
    WaitingListEntry.update(status=status, **NOBODY).where(of_them).execute()
    is_counted = event.capacity is not None and ticket_type.admission
    stock.wait(ticket_type.id, -len(found), event.id if is_counted else None)
    idle = [each for each in found if each.idle_since is not None]
    stock.idle(ticket_type.id, -len(idle))


def _mails(ended: Iterable[WaitingListEntry]) -> list[dict[str, object]]:
    """Return one mail for each mailbox. It has the address, because the entry loses it."""
    by_mailbox = {each.mailbox: each for each in ended if each.email is not None}
    return [
        mail_queue.new(each.tenant_id, MailKind.WAITING_LIST_ENDED, each.id, recipient=each.email)
        for each in by_mailbox.values()
    ]
