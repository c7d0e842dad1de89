"""Two budgets of mails that strangers can cause: of each mailbox, and of each client.

A stranger makes an order and pays nothing, or offers a ticket, with the address of anybody, or asks
for the mail of an order that is not paid to be sent to it. What
follows from received money, from an event, or from what the organizer does is never counted here,
and never waits. So a stranger cannot keep the mails back that matter to a buyer. Mails that people
ask for, such as a new password, are counted on their own (asked_mails.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from peewee import Expression, ModelSelect

from ticketing import clock, credentials, ids
from ticketing.constants import SOLD
from ticketing.limits import (
    MAILBOXES_PER_CLIENT,
    MAILS_OF_CLIENT,
    MAILS_PER_MAILBOX,
    WIDE_FACTOR,
)
from ticketing.models.admissions import Admission, Transfer
from ticketing.models.notifications import Mail
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.prepared import Prepared
from ticketing.models.refunds import RefundAddress
from ticketing.notification_types import ASKED_FOR, MailKind
from ticketing.services.mail import recipients
from ticketing.services.orders import accounts, crowds, mailboxes

_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Budget:
    """What a mail counts for: digests of its mailbox, and of the networks of its client.

    The client is the one that made the order, also for what later holders of its tickets do. It is
    None for an order that was made with a credential or from a crowd, and for a guest's ticket.
    """

    mailbox: str
    client: str | None
    client_site: str | None


def of(mail: Mail, recipient: str, secret_key: str) -> Budget | None:
    """Return what a mail counts for. None if no stranger can cause it.

    `recipient` is an address as `recipients.deliverable` returns it.
    """
    order = order_of(mail)
    if not _is_by_stranger(mail, order):
        return None
    mailbox = credentials.keyed_digest(secret_key, "mailbox", recipients.mailbox(recipient))
    if order is None or crowds.is_of_crowd(order.held_by):
        return Budget(mailbox, None, None)
    return Budget(mailbox, order.held_by, order.held_by_site)


def free_at(mail: Mail, budget: Budget) -> datetime | None:
    """Return when the budgets let a mail go. None: now.

    What was tried counts for a day after it ended, and for as long as it is tried again. To one
    mailbox, those without a client count together as one client.

    Example: one stranger caused three mails to a mailbox today, and waits with the fourth. Another
    one's first mail goes. The eleventh of all of them waits.
    """
    since = clock.now() - _DAY
    to_mailbox: list[Mail] = _to_mailbox.rows(mailbox=budget.mailbox, mail_id=mail.id, since=since)
    free = [_free_at(map(_end, to_mailbox), MAILS_PER_MAILBOX)]
    for place, network in enumerate((budget.client, budget.client_site)):
        if network is not None or place == 0:
            same = [_end(each) for each in to_mailbox if _networks(each)[place] == network]
            free.append(_free_at(same, MAILS_OF_CLIENT * WIDE_FACTOR**place))
        if network is not None:
            found = _QUERIES[place].rows(network=network, mail_id=mail.id, since=since)
            most = MAILBOXES_PER_CLIENT * WIDE_FACTOR**place
            free.append(_new_mailbox_at(found, budget.mailbox, most))
    return max((each for each in free if each is not None), default=None)


def order_of(mail: Mail) -> PaymentIntent | None:
    """Return the order that a mail follows from. None for a guest's ticket, and for a member."""
    found: PaymentIntent | None = None
    condition = _is_order_of(mail.subject)
    if condition is not None:
        found = PaymentIntent.select().where(condition).first()
    return found


def was_asked_for(mail: Mail) -> bool:
    """Return whether somebody with the link of an order asked for a mail, and chose its address."""
    return mail.kind in ASKED_FOR and mail.notification_id is None


def _is_by_stranger(mail: Mail, order: PaymentIntent | None) -> bool:
    if mail.kind == MailKind.TRANSFER_OFFERED:
        return True
    if order is not None and was_asked_for(mail):
        # A part of the price is little money for many mails to any address.
        return order.amount == 0 or order.status not in SOLD
    if order is not None and mail.kind == MailKind.EMAIL_CHANGED:
        return _is_to_nobody_proven(mail, order)
    if order is not None and accounts.has_money(order):
        return False
    if mail.kind == MailKind.TICKET:
        # The organizer adds guests and reissues codes. Holders pass tickets on.
        return mail.notification_id is not None and _was_transferred(mail.subject)
    is_of_order = mail.kind in (
        MailKind.ORDER_PLACED,
        MailKind.ORDER_CONFIRMED,
        MailKind.REFUND_ADDRESS_CHANGED,
        MailKind.REFUND_ADDRESS_NEWS,
        MailKind.ANSWERS_MISSING,
    )
    return is_of_order and order is not None and order.held_by is not None


def _is_to_nobody_proven(mail: Mail, order: PaymentIntent) -> bool:
    """Return whether a stranger chose the address that is told of another one.

    A mailbox that the buyer of a paid order has proven is always told: else whoever has the link
    could fill its budget first.
    """
    if not accounts.has_money(order):
        return True
    is_sold = order.amount > 0 and order.status in SOLD
    return not is_sold and mail.recipient not in mailboxes.of(order).buyers


def _is_order_of(subject: str) -> Expression | None:
    if ids.is_id(ids.INTENT, subject):
        return PaymentIntent.id == subject
    if ids.is_id(ids.REFUND_ADDRESS, subject):
        of_payee = RefundAddress.select(RefundAddress.intent).where(RefundAddress.id == subject)
        return PaymentIntent.id.in_(of_payee)
    if ids.is_id(ids.ADMISSION, subject):
        return PaymentIntent.id.in_(Admission.select(Admission.intent).where(_id_is(subject)))
    if ids.is_id(ids.TRANSFER, subject):
        of_offer = Transfer.select(Admission.intent).join(Admission).where(Transfer.id == subject)
        return PaymentIntent.id.in_(of_offer)
    return None


def _id_is(admission_id: str) -> Expression:
    return Admission.id == admission_id


def _was_transferred(admission_id: str) -> bool:
    was_transferred = Admission.transferred_at.is_null(False)
    return bool(Admission.select().where(_id_is(admission_id), was_transferred).exists())


def _tried(since: Any, mail_id: Any) -> ModelSelect[Mail]:
    """Select the other mails that were tried and count. Only these have a mailbox."""
    counts = Mail.ended_at.is_null() | (Mail.ended_at > since)
    return Mail.select().where(Mail.id != mail_id, counts)


@Prepared
def _to_mailbox(mailbox: Any, mail_id: Any, since: Any) -> ModelSelect[Mail]:
    return _tried(since, mail_id).where(Mail.mailbox == mailbox)


@Prepared
def _of_client(network: Any, mail_id: Any, since: Any) -> ModelSelect[Mail]:
    return _tried(since, mail_id).where(Mail.client == network, Mail.mailbox.is_null(False))


@Prepared
def _of_client_site(network: Any, mail_id: Any, since: Any) -> ModelSelect[Mail]:
    return _tried(since, mail_id).where(Mail.client_site == network, Mail.mailbox.is_null(False))


_QUERIES: tuple[Prepared[Mail], ...] = (_of_client, _of_client_site)


def _new_mailbox_at(found: Iterable[Mail], mailbox: str, most: int) -> datetime | None:
    """Return when a client may reach a mailbox. None: now, or it was reached today."""
    last: dict[str | None, datetime] = {}
    for each in found:
        last[each.mailbox] = max(_end(each), last.get(each.mailbox, _end(each)))
    return None if mailbox in last else _free_at(last.values(), most)


def _networks(mail: Mail) -> tuple[str | None, str | None]:
    return mail.client, mail.client_site


def _end(mail: Mail) -> datetime:
    ended_at: datetime | None = mail.ended_at
    return ended_at or clock.now()


def _free_at(ends: Iterable[datetime], most: int) -> datetime | None:
    """Return when fewer than `most` count. None: now.

    Example, for three a day: if some ended at 8, 9, 10 and 11 o'clock, then at 9 on the next day.
    """
    newest = sorted(ends, reverse=True)[:most]
    return newest[-1] + _DAY if len(newest) == most else None
