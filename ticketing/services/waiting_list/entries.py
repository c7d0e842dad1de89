"""The places of a waiting list: join, confirm the address, leave, list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from peewee import ModelSelect, fn

from ticketing import clock, ids
from ticketing.config import Config
from ticketing.constants import LIVE, Ask, IntentStatus, Publication
from ticketing.db.connection import locked, one_at_a_time, write_transaction
from ticketing.errors import (
    AboveMaximum,
    BelowMinimum,
    EntryEnded,
    FieldMessage,
    Invalid,
    MailNotConfigured,
    NotFound,
    NotSoldOut,
    OfferMade,
    TooManyJoins,
    TooManyPlaces,
    WaitingListClosed,
    WaitingListFull,
)
from ticketing.limits import PLACES_PER_CLIENT, WIDE_FACTOR
from ticketing.models.base import literal
from ticketing.models.events import Event
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.questions import Answer, Question
from ticketing.models.tenants import Tenant
from ticketing.models.ticket_types import TicketType
from ticketing.models.waiting_list import WaitingListEntry
from ticketing.notification_types import MailKind
from ticketing.services import event_locks
from ticketing.services.mail import asked_mails, recipients
from ticketing.services.orders import (
    answers,
    questions,
    stock,
    waiting_ends,
    waiting_rules,
)
from ticketing.services.orders.answers import OrderAnswers
from ticketing.services.pagination import Page, PageRequest, paginate
from ticketing.waiting_list import JOINS_PER_CLIENT, MOST_WAITING, OPEN, EntryStatus

_NOT_DELIVERABLE = FieldMessage("email", "Not a valid email address.")


def join(
    tenant: Tenant,
    event_reference: str,
    ticket_id: str,
    wanted: Mapping[str, Any],
    client: Sequence[str],
    config: Config,
) -> datetime | None:
    """Plan a mail with which somebody confirms that they wait.

    Return when such a mail was planned for this place, if that was lately. None: no such mail
    was, and one is planned now.

    `wanted`: `quantity`, `email`, `name` and `locale`. `client`: digests of the client's networks.
    Nobody learns whether the address waits already: it gets the link of its place again.

    NotFound. NotSoldOut, WaitingListClosed, WaitingListFull, BelowMinimum, AboveMaximum.
    MailNotConfigured. Invalid for an address that no mail reaches. TooManyJoins, TooManyPlaces.
    TooManyMails.
    """
    ticket_type = _shown(tenant.id, event_reference, ticket_id)
    if config.smtp is None:
        raise MailNotConfigured
    check_open(ticket_type, ticket_type.event)
    if not is_needed(ticket_type, ticket_type.event):
        raise NotSoldOut
    if wanted["quantity"] < ticket_type.min_per_order:
        raise BelowMinimum
    if wanted["quantity"] > ticket_type.max_per_order:
        raise AboveMaximum
    recipient = recipients.deliverable(wanted["email"])
    if recipient is None:
        raise Invalid({"email": [_NOT_DELIVERABLE]})
    mailbox = recipients.mailbox(recipient)
    with write_transaction():
        kind = MailKind.WAITING_LIST_JOINED
        counted = asked_mails.count(client, kind, JOINS_PER_CLIENT, TooManyJoins)
        # Also if the address waits already: else the answer would tell that.
        _check_places(ticket_type.event_id, client)
        one_at_a_time(f"entries of {mailbox}")
        entry_id = _write(ticket_type, mailbox, wanted, counted)
        return asked_mails.add_once(tenant.id, kind, entry_id, mailbox, config, **counted)


def _shown(tenant_id: str, event_reference: str, ticket_id: str) -> TicketType:
    """Return a ticket type with its event, as everybody sees them. NotFound."""
    found: TicketType | None = (
        TicketType.select(TicketType, Event)
        .join(Event)
        .where(
            TicketType.id == ticket_id,
            TicketType.tenant == tenant_id,
            TicketType.status == Publication.PUBLISHED,
            ~TicketType.hide_without_voucher,
            Event.status == Publication.PUBLISHED,
            (Event.id == event_reference) | (Event.slug == event_reference),
        )
        .first()
    )
    if found is None:
        raise NotFound("This ticket type does not exist.")
    return found


def check_open(ticket_type: TicketType, event: Event) -> None:
    """Check that people can wait. WaitingListClosed, WaitingListFull."""
    if not waiting_rules.is_open(ticket_type, event, clock.now()):
        raise WaitingListClosed
    if ticket_type.waiting >= MOST_WAITING:
        raise WaitingListFull


def is_needed(ticket_type: TicketType, event: Event) -> bool:
    """Return whether one has to wait for a ticket type, by its event's stock of now."""
    event_stock = stock.of_event(event) if ticket_type.admission else None
    return waiting_rules.is_needed(ticket_type, event_stock, stock.in_pool(ticket_type, event))


def _write(
    ticket_type: TicketType, mailbox: str, wanted: Mapping[str, Any], counted: Mapping[str, Any]
) -> str:
    """Return the open entry of a mailbox, or a new one. Until it is confirmed, it can change."""
    same = WaitingListEntry.select().where(
        WaitingListEntry.ticket_type == ticket_type.id,
        WaitingListEntry.mailbox == mailbox,
        WaitingListEntry.status.in_([literal(status) for status in OPEN]),
    )
    found: WaitingListEntry | None = locked(same).first()
    if found is None:
        entry_id = ids.new(ids.WAITING_LIST_ENTRY)
        WaitingListEntry.create(
            id=entry_id,
            tenant=ticket_type.tenant_id,
            event=ticket_type.event_id,
            ticket_type=ticket_type.id,
            mailbox=mailbox,
            status=EntryStatus.UNCONFIRMED,
            created_at=clock.now(),
            **wanted,
            **counted,
        )
        return entry_id
    if found.status == EntryStatus.UNCONFIRMED:
        change(found, **wanted)
    return str(found.id)


def _check_places(event_id: str, client: Sequence[str]) -> None:
    """Check that a client may have one more open place of an event. TooManyPlaces.

    `client`: digests of its networks, from narrow to wide; the wide one may have WIDE_FACTOR times
    as many. Call it after `asked_mails.count`, which lets others of the client wait.
    """
    networks = (WaitingListEntry.client, WaitingListEntry.client_site)
    for place, (column, network) in enumerate(zip(networks, client, strict=False)):
        open_places = WaitingListEntry.select().where(
            column == network,
            WaitingListEntry.event == event_id,
            WaitingListEntry.status.in_([literal(status) for status in OPEN]),
        )
        if open_places.count() >= PLACES_PER_CLIENT * WIDE_FACTOR**place:
            raise TooManyPlaces


def confirm(entry_id: str) -> None:
    """Let somebody wait, whose mail has come. A repeat changes nothing.

    EntryEnded, WaitingListClosed, WaitingListFull.
    """
    with write_transaction():
        event, entry = lock(entry_id)
        if entry.status in (EntryStatus.WAITING, EntryStatus.OFFERED, EntryStatus.ORDERED):
            return
        if entry.status != EntryStatus.UNCONFIRMED:
            raise EntryEnded
        check_open(entry.ticket_type, event)
        count(event, entry, 1)
        change(entry, status=EntryStatus.WAITING, confirmed_at=clock.now())


def end(entry_id: str) -> WaitingListEntry:
    """Cancel an entry, and keep nothing of who waited. A repeat changes nothing. Return it.

    NotFound. EntryEnded if its offer was paid, or has expired. OfferMade if it has an offer that is
    not canceled.
    """
    with write_transaction():
        event, entry = lock(entry_id)
        if entry.status == EntryStatus.CANCELED:
            return find(entry_id)
        if entry.status in (EntryStatus.ORDERED, EntryStatus.EXPIRED):
            raise EntryEnded
        order = _order_of(entry)
        if order is not None and order.status != IntentStatus.CANCELED:
            raise OfferMade if IntentStatus(order.status) in LIVE else EntryEnded
        if entry.status == EntryStatus.WAITING:
            count(event, entry, -1)
        change(entry, status=EntryStatus.CANCELED, **waiting_ends.NOBODY)
        return find(entry_id)


def questions_of(entry: WaitingListEntry) -> Sequence[Question]:
    """Return what the organizer asks about the order that was offered, until it is answered."""
    has_order = entry.status in (EntryStatus.OFFERED, EntryStatus.ORDERED)
    if not has_order or not entry.event.order_questions or _has_answered(entry):
        return []
    asked = questions.asked(entry.event_id, Ask.ORDER)
    return [each for each in asked if each.is_for([entry.ticket_type_id])]


def answer(entry_id: str, given: Mapping[str, object]) -> None:
    """Answer what is asked about the order that was offered, once. A repeat changes nothing.

    NotFound. EntryEnded if there is no such order. Invalid, at `answers.<identifier>`.
    """
    with write_transaction():
        _, entry = lock(entry_id)
        order = _order_of(entry)
        if order is None or entry.status not in (EntryStatus.OFFERED, EntryStatus.ORDERED):
            raise EntryEnded
        if not _has_answered(entry):
            types = [entry.ticket_type_id]
            answers.write(order, OrderAnswers(entry.event_id, types, given))


def _order_of(entry: WaitingListEntry) -> PaymentIntent | None:
    order: PaymentIntent | None = entry.intent
    return order


def _has_answered(entry: WaitingListEntry) -> bool:
    return bool(Answer.select().where(Answer.intent == entry.intent_id).exists())


def lock(entry_id: str) -> tuple[Event, WaitingListEntry]:
    """Lock an entry, and keep its event as it is. Call it before other locks. NotFound."""
    found = WaitingListEntry.get_or_none(WaitingListEntry.id == entry_id)
    if found is None:
        raise NotFound("This place on the waiting list does not exist.")
    event = event_locks.keep(found.tenant_id, found.event_id)
    entry = locked(WaitingListEntry.select().where(WaitingListEntry.id == entry_id)).get()
    return event, entry


def count(event: Event, entry: WaitingListEntry, entries: int) -> None:
    """Count an entry that begins to wait (1), or ends (-1), for its ticket type."""
    is_counted = event.capacity is not None and entry.ticket_type.admission
    stock.wait(entry.ticket_type_id, entries, event.id if is_counted else None)
    if entry.idle_since is not None:
        stock.idle(entry.ticket_type_id, entries)


def change(entry: WaitingListEntry, **columns: Any) -> None:
    """Change a locked entry."""
    WaitingListEntry.update(columns).where(WaitingListEntry.id == entry.id).execute()
    for name, value in columns.items():
        setattr(entry, name, value)


def find(entry_id: str) -> WaitingListEntry:
    """Return an entry with its event, ticket type, tenant and order, and its `place`. NotFound."""
    found: WaitingListEntry | None = _select().where(WaitingListEntry.id == entry_id).first()
    if found is None:
        raise NotFound("This place on the waiting list does not exist.")
    add_places([found])
    return found


def get(tenant_id: str, event_id: str, entry_id: str) -> WaitingListEntry:
    """Return an entry of an event, as `find`. NotFound."""
    entry = find(entry_id)
    if (entry.tenant_id, entry.event_id) != (tenant_id, event_id):
        raise NotFound("This place on the waiting list does not exist.")
    return entry


def list_page(
    tenant_id: str, event_id: str, page: PageRequest, status: EntryStatus | None = None
) -> Page[WaitingListEntry]:
    """Return a page of an event's entries, the oldest first, or of those in one state. NotFound."""
    if not Event.select().where(Event.id == event_id, Event.tenant == tenant_id).exists():
        raise NotFound("This event does not exist.")
    query = _select().where(WaitingListEntry.event == event_id)
    if status is not None:
        query = query.where(WaitingListEntry.status == status)
    scope = f"waiting list {event_id} {status or ''}".rstrip()
    found = paginate(query, [WaitingListEntry.id], page, scope=scope)
    add_places(found.data)
    return found


def has_list(event_id: str) -> bool:
    """Return whether any ticket type of an event has a waiting list."""
    types = TicketType.select().where(TicketType.event == event_id, TicketType.allow_waitinglist)
    return bool(types.exists())


def add_places(entries: Sequence[WaitingListEntry]) -> None:
    """Set `place` on entries: of those who wait, how many come first for that ticket type, from 1.

    Runs one query if any waits.
    """
    waiting = [each.id for each in entries if each.status == EntryStatus.WAITING]
    places: dict[str, int] = {}
    if waiting:
        types = {each.ticket_type_id for each in entries if each.id in waiting}
        order = [WaitingListEntry.confirmed_at, WaitingListEntry.id]
        place = fn.ROW_NUMBER().over(partition_by=[WaitingListEntry.ticket_type], order_by=order)
        all_places = (
            WaitingListEntry.select(WaitingListEntry.id, place.alias("place"))
            .where(
                WaitingListEntry.ticket_type.in_(types),
                WaitingListEntry.status == EntryStatus.WAITING,
            )
            .alias("places")
        )
        numbered = (
            WaitingListEntry.select(all_places.c.id, all_places.c.place)
            .from_(all_places)
            .where(all_places.c.id.in_(waiting))
        )
        rows: Any = numbered.tuples()
        places = dict(rows)
    for each in entries:
        each.place = places.get(each.id)


def _select() -> ModelSelect[WaitingListEntry]:
    return (
        WaitingListEntry.select(WaitingListEntry, Event, TicketType, Tenant)
        .join_from(WaitingListEntry, Event)
        .join_from(WaitingListEntry, TicketType)
        .join_from(WaitingListEntry, Tenant)
    )
