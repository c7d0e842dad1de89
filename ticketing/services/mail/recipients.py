"""To whom mails go: the address of what a mail is about, and everybody of an event."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

from peewee import Expression, Field, Model

from ticketing import credentials, ids
from ticketing.constants import EVENT_CANCELED_REASON, LIVE, SOLD, AdmissionStatus, IntentStatus
from ticketing.models.admissions import Admission, Transfer
from ticketing.models.members import Member
from ticketing.models.messages import Message
from ticketing.models.notifications import Mail
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import PaymentIntent, of_home
from ticketing.models.waiting_list import WaitingListEntry
from ticketing.notification_types import Audience

AT_ONCE = 500
"""How many people of an event are read at once."""

Page = list[tuple[str, str]]
"""Ids of orders or admissions, each with its email address."""

_ADDRESSES: dict[str, Field[Any]] = {
    ids.INTENT: PaymentIntent.buyer_email,
    ids.ADMISSION: Admission.holder_email,
    ids.TRANSFER: Transfer.holder_email,
    ids.MEMBER: Member.email,
    ids.WAITING_LIST_ENTRY: WaitingListEntry.email,
}
"""Where the address of each kind of subject is."""

_PAID = (PaymentIntent.amount > 0) & PaymentIntent.status.in_(SOLD)
_PAID_IN_PART = of_home(OrderAccount.received) > 0

CANCELING = timedelta(minutes=1)
"""The longest time between the cancelation of an order and the end of its transaction."""

_MOST_LOCAL, _MOST_IN_ALL = 64, 254
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LOCAL = re.compile(rf"(?!.*=\?){_ATOM}(?:\.{_ATOM})*", re.ASCII)
_DOMAIN = re.compile(r"[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*", re.ASCII)


def reachable(subjects: Iterable[str]) -> set[str]:
    """Return those of the subjects that have an email address."""
    found = set()
    asked = list(subjects)
    for prefix, column in _ADDRESSES.items():
        if of_kind := [each for each in asked if each.startswith(prefix)]:
            model = column.model
            has_address = model.select(model.id).where(model.id.in_(of_kind), column.is_null(False))
            found |= {each.id for each in has_address}
    return found


def address_of(mail: Mail) -> str | None:
    """Return the address that a mail goes to now. None if it was erased or does not exist."""
    if mail.recipient is not None:
        return mail.recipient
    for prefix, column in _ADDRESSES.items():
        if mail.subject.startswith(prefix):
            model: type[Model] = column.model
            found = model.select(column).where(model.id == mail.subject).tuples().first()  # type: ignore[attr-defined]
            return None if found is None else found[0]
    raise LookupError(f"{mail.id} has a subject of an unknown kind")


def deliverable(address: str) -> str | None:
    """Return an address as SMTP accepts it, in ASCII. None if it is not possible.

    A domain in another script gets its ASCII form (IDNA). A local part in another script, or in
    quotes, is not accepted by every server. `=?` begins an encoded word in a header (RFC 2047).
    """
    if len(address) > _MOST_IN_ALL:
        return None
    local, _, domain = address.rpartition("@")
    try:
        domain = domain.encode("idna").decode()
    except UnicodeError:
        return None
    if len(local) > _MOST_LOCAL or len(local) + 1 + len(domain) > _MOST_IN_ALL:
        return None
    is_valid = _LOCAL.fullmatch(local) and _DOMAIN.fullmatch(domain)
    return f"{local}@{domain}" if is_valid else None


def mailbox(recipient: str) -> str:
    """Return the mailbox of a deliverable address, to count what it gets.

    That is the address in lower case, with its domain in IDNA form (which is NFKC), and without the
    tag from `+` on.
    """
    local, _, domain = recipient.lower().rpartition("@")
    return f"{local.partition('+')[0]}@{domain}"


def digest(secret_key: str, address: str) -> str:
    """Return the keyed digest of an address, in any case and form of its letters."""
    return credentials.keyed_digest(secret_key, "mail-recipient", one_form(address))


def one_form(address: str) -> str:
    """Return the form in which two addresses of one mailbox are the same, in any case."""
    return (deliverable(address) or address).lower()


def count(pages: Iterable[Page]) -> int:
    """Return how many addresses these people have."""
    return len({one_form(address) for page in pages for _, address in page})


def admins(tenant_id: str) -> list[str]:
    """Return the ids of a tenant's active members with the role admin."""
    found = Member.select(Member.id).where(
        Member.tenant == tenant_id,
        Member.role == "admin",
        Member.disabled_at.is_null(),
        Member.password_hash.is_null(False),
    )
    return [member.id for member in found]


def of_moved_event(event_id: str) -> Iterator[Page]:
    """Yield everybody whose order or ticket of an event is valid, some at a time, some repeatedly.

    The first one with an address gets the mail of that address. So orders that were paid come
    first, then tickets of guests and of people to whom one was transferred, then unpaid and free
    orders: anybody can make these with anybody's address.
    """
    is_open = PaymentIntent.status.in_([*LIVE, *SOLD])
    is_valid = Admission.status != AdmissionStatus.VOID
    return _of_event(event_id, is_open, is_valid)


def of_canceled_event(event_id: str, canceled_at: datetime) -> Iterator[Page]:
    """Yield everybody whose order or ticket ended with an event, in the same order."""
    ended_with_it = (PaymentIntent.status == IntentStatus.CANCELED) & (
        PaymentIntent.ended_at > canceled_at - CANCELING
    )
    return _of_event(
        event_id,
        PaymentIntent.status.in_(SOLD) | ended_with_it,
        Admission.void_reason == EVENT_CANCELED_REASON,
    )


def of_message(message: Message) -> Iterator[Page]:
    """Yield everybody to whom a message of an organizer goes now, in the same order."""
    if message.audience == Audience.BUYERS:
        yield from _pages(message.event_id, PaymentIntent.buyer_email, _orders(message))
    else:
        yield from _of_event(message.event_id, _orders(message), _seats(message))


def gets_message(message: Message, subject: str) -> bool:
    """Return whether a message still goes to an order or a ticket."""
    if ids.is_id(ids.INTENT, subject):
        order = PaymentIntent.select().where(PaymentIntent.id == subject, _orders(message))
        return bool(order.exists())
    return bool(Admission.select().where(Admission.id == subject, _seats(message)).exists())


def _seats(message: Message) -> Expression:
    """Return which admissions a message is about."""
    if message.audience == Audience.CANCELED:
        wanted = Admission.void_reason == EVENT_CANCELED_REASON
    else:
        wanted = Admission.status != AdmissionStatus.VOID
    if message.audience == Audience.NOT_REDEEMED:
        wanted &= Admission.redeemed_at.is_null()
    if message.ticket_id_list is not None:
        wanted &= Admission.ticket_type.in_(message.ticket_id_list)
    return wanted


def _orders(message: Message) -> Expression:
    """Return the orders of these admissions, for buyers also of those that were passed on."""
    ordered = Admission.intent.is_null(False)
    if message.audience != Audience.BUYERS:
        ordered &= Admission.transferred_at.is_null()
    seats = Admission.select(Admission.intent).where(
        Admission.event == message.event_id, ordered, _seats(message)
    )
    found: Expression = PaymentIntent.id.in_(seats)
    return found


def _of_event(event_id: str, of_intent: Expression, of_admission: Expression) -> Iterator[Page]:
    not_the_buyer = Admission.intent.is_null() | Admission.transferred_at.is_null(False)
    email = PaymentIntent.buyer_email
    yield from _pages(event_id, email, of_intent & _PAID)
    yield from _pages(event_id, email, of_intent & _PAID_IN_PART)
    yield from _pages(event_id, Admission.holder_email, of_admission & not_the_buyer)
    # All: an order may have been paid since it was left out above.
    yield from _pages(event_id, email, of_intent)


def _pages(event_id: str, address: Field[Any], condition: Expression) -> Iterator[Page]:
    model, after = address.model, ""
    while True:
        found = (
            model.select(model.id, address)
            .where(model.event == event_id, model.id > after, address.is_null(False), condition)
            .order_by(model.id)
            .limit(AT_ONCE)
        )
        page = list(found.tuples())
        if not page:
            return
        yield page
        after = page[-1][0]
