"""Plan mails from the feed: what follows from a notification becomes rows of `mails`, once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import takewhile
from typing import Any

from peewee import ModelSelect

from ticketing import clock
from ticketing.constants import IntentStatus, Publication
from ticketing.credentials import Keyring
from ticketing.db.connection import locked, write_transaction
from ticketing.models.notifications import Mail, Notification, NotificationFeed
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.prepared import Prepared
from ticketing.models.waiting_list import WaitingListEntry
from ticketing.notification_types import MailKind, MailStatus, NotificationType
from ticketing.services.mail import recipients, sale_mails
from ticketing.services.notifications import mail_queue

AT_ONCE = 200
"""How many notifications of a tenant are planned in one transaction."""

_ABOUT_ONE: dict[str, tuple[MailKind, str]] = {
    NotificationType.INTENT_CREATED: (MailKind.ORDER_PLACED, "intent_id"),
    NotificationType.STRAY_SEEN: (MailKind.PART_ARRIVED, "intent_id"),
    NotificationType.INTENT_CONFIRMED: (MailKind.ORDER_CONFIRMED, "intent_id"),
    NotificationType.REFUND_DUE: (MailKind.REFUND_DUE, "intent_id"),
    NotificationType.REFUND_SETTLED: (MailKind.REFUND_SETTLED, "intent_id"),
    NotificationType.ADMISSION_ISSUED: (MailKind.TICKET, "admission_id"),
    NotificationType.ADMISSION_TRANSFERRED: (MailKind.TICKET, "admission_id"),
    NotificationType.MEMBER_INVITED: (MailKind.MEMBER_INVITED, "member_id"),
    NotificationType.ADMISSION_TRANSFER_OFFERED: (MailKind.TRANSFER_OFFERED, "transfer_id"),
}
"""The mail that follows, and the field with its subject."""

_TO_ADMINS: dict[str, MailKind] = {
    NotificationType.WEBHOOK_FAILING: MailKind.WEBHOOK_FAILING,
    NotificationType.WALLET_CHANGE_REQUESTED: MailKind.WALLET_CHANGE_REQUESTED,
    NotificationType.WALLET_CHANGED: MailKind.WALLET_CHANGED,
    NotificationType.WALLET_CHANGE_CANCELED: MailKind.WALLET_CHANGE_CANCELED,
}
"""The mail that follows for each administrator."""

MOVES = frozenset({"start_at", "timezone", "venue"})
"""The fields of an event whose change people learn of."""

_READ = [
    *_ABOUT_ONE,
    *_TO_ADMINS,
    NotificationType.EVENT_CHANGED,
    NotificationType.EVENT_CANCELED,
]

Row = dict[str, Any]


@Prepared
def _behind() -> ModelSelect[NotificationFeed]:
    is_behind = NotificationFeed.mailed_sequence < NotificationFeed.last_sequence
    return NotificationFeed.select(NotificationFeed.tenant).where(is_behind)


def plan(keyring: Keyring) -> bool:
    """Plan the mails of some new notifications of each tenant. Return whether there were any.

    Notifications that are older than a mail would live are skipped.
    """
    behind = _behind.tuples()
    for (tenant_id,) in behind:
        to_everybody = _plan_some(tenant_id)
        if to_everybody is not None:
            _plan_for_everybody(to_everybody, keyring)
    return bool(behind)


def _plan_some(tenant_id: str) -> Notification | None:
    """Plan up to the next mail to everybody. Return its notification if it is the first one."""
    with write_transaction():
        feed = locked(NotificationFeed.select().where(NotificationFeed.tenant == tenant_id)).get()
        unread = Notification.select().where(
            Notification.tenant == feed.tenant_id,
            Notification.sequence > feed.mailed_sequence,
            Notification.sequence <= feed.last_sequence,
            Notification.created_at > clock.now() - mail_queue.LIFE,
            Notification.type.in_(_READ),
        )
        found = list(unread.order_by(Notification.sequence).limit(AT_ONCE))
        few = list(takewhile(lambda each: not _is_for_everybody(each), found))
        if found and not few:
            return found[0]
        is_all = len(few) == len(found) < AT_ONCE
        mail_queue.add(_rows(few))
        _move(feed, feed.last_sequence if is_all else few[-1].sequence or 0)
    return None


def _move(feed: NotificationFeed, sequence: int) -> None:
    """Move a feed on, unless another process did."""
    NotificationFeed.update(mailed_sequence=sequence).where(
        NotificationFeed.tenant == feed.tenant_id,
        NotificationFeed.mailed_sequence == feed.mailed_sequence,
    ).execute()


def _rows(found: Sequence[Notification]) -> list[Row]:
    said = _said_with_cancelation(found)
    rows = [row for each in found if each.id not in said for row in _wanted(each)]
    rows += sale_mails.of_each(found)
    reachable = recipients.reachable(row["subject"] for row in rows)
    confirmed = _told_of_confirmation(_of_kind(rows, MailKind.ORDER_CONFIRMED))
    awaiting = _to_be_paid(_of_kind(rows, MailKind.ORDER_PLACED))
    planned = []
    for row in rows:
        if row["kind"] == MailKind.ORDER_PLACED and row["subject"] not in awaiting:
            continue
        if row["kind"] == MailKind.ORDER_CONFIRMED:
            if row["subject"] in confirmed:
                continue
            confirmed.add(row["subject"])
        if row["subject"] in reachable:
            planned.append(row)
    return planned


def _wanted(notification: Notification) -> Iterator[Row]:
    data = json.loads(notification.data)
    origin = {"notification_id": notification.id}
    tenant_id = notification.tenant_id
    if notification.type in _TO_ADMINS:
        for member_id in recipients.admins(tenant_id):
            yield mail_queue.new(tenant_id, _TO_ADMINS[notification.type], member_id, **origin)
    elif notification.type in _ABOUT_ONE and not _is_of_an_order(notification, data):
        kind, field = _ABOUT_ONE[notification.type]
        generation = data["generation"] if kind is MailKind.TICKET else None
        due = {"next_attempt_at": _due(kind, notification)}
        yield mail_queue.new(tenant_id, kind, data[field], generation=generation, **due, **origin)


def _due(kind: MailKind, notification: Notification) -> datetime:
    """Return when a mail is due: a little later if the buyer may pay all of it by then."""
    waits = kind in (MailKind.ORDER_PLACED, MailKind.PART_ARRIVED)
    created: datetime = notification.created_at
    return created + mail_queue.WHILE_PAYING if waits else clock.now()


def _is_of_an_order(notification: Notification, data: dict[str, Any]) -> bool:
    """Return whether it is an admission that the mail of its order brings."""
    is_issued = notification.type == NotificationType.ADMISSION_ISSUED
    return is_issued and data["intent_id"] is not None


def _of_kind(rows: Sequence[Row], kind: MailKind) -> list[str]:
    return [row["subject"] for row in rows if row["kind"] == kind]


def _to_be_paid(intent_ids: Sequence[str]) -> set[str]:
    """Return those of the orders whose buyer may have to be told how to pay them.

    An offer to somebody who waited has mails of its own.
    """
    offered = WaitingListEntry.select(WaitingListEntry.intent).where(
        WaitingListEntry.intent.in_(intent_ids)
    )
    found = PaymentIntent.select(PaymentIntent.id).where(
        PaymentIntent.id.in_(intent_ids),
        PaymentIntent.id.not_in(offered),
        PaymentIntent.status == IntentStatus.AWAITING_PAYMENT,
        PaymentIntent.amount > 0,
        ~PaymentIntent.x402,
    )
    return {each.id for each in found}


def _said_with_cancelation(found: Sequence[Notification]) -> set[str]:
    """Return the notifications of refunds that the mail about a canceled event says, too.

    They were recorded in the same transaction, just before that of the event.
    """
    due = [each for each in found if each.type == NotificationType.REFUND_DUE]
    if not due:
        return set()
    of_events = Notification.select().where(
        Notification.tenant == due[0].tenant_id,
        Notification.type == NotificationType.EVENT_CANCELED,
        Notification.sequence > due[0].sequence,
    )
    canceled = {json.loads(each.data)["event_id"]: each for each in of_events}
    return {
        each.id
        for each in due
        if (of_event := canceled.get(json.loads(each.data).get("event_id"))) is not None
        and (each.sequence or 0) < (of_event.sequence or 0)
        and of_event.created_at - each.created_at < recipients.CANCELING
    }


def _told_of_confirmation(intent_ids: Sequence[str]) -> set[str]:
    """Return the orders whose buyer was told, or will be, that they are confirmed."""
    told = Mail.select(Mail.subject).where(
        Mail.subject.in_(intent_ids),
        Mail.kind == MailKind.ORDER_CONFIRMED,
        Mail.status != MailStatus.DROPPED,
    )
    return {mail.subject for mail in told}


def _is_for_everybody(notification: Notification) -> bool:
    if notification.type == NotificationType.EVENT_CANCELED:
        return True
    if notification.type != NotificationType.EVENT_CHANGED:
        return False
    data = json.loads(notification.data)
    is_published = data["status"] == Publication.PUBLISHED
    return is_published and data["tell_people"] and not MOVES.isdisjoint(data["changed"])


def _plan_for_everybody(notification: Notification, keyring: Keyring) -> None:
    """Plan a mail to each address of an event, in many short transactions.

    If the process is killed, the next one begins again: rows that exist are ignored.
    """
    event_id = json.loads(notification.data)["event_id"]
    if notification.type == NotificationType.EVENT_CANCELED:
        kind = MailKind.EVENT_CANCELED
        pages = recipients.of_canceled_event(event_id, notification.created_at)
    else:
        kind, pages = MailKind.EVENT_MOVED, recipients.of_moved_event(event_id)
    for page in pages:
        rows = [
            mail_queue.new(
                notification.tenant_id,
                kind,
                subject,
                notification_id=notification.id,
                recipient_digest=recipients.digest(keyring.current, address),
            )
            for subject, address in page
        ]
        with write_transaction():
            mail_queue.add(rows)
    with write_transaction():
        feed = NotificationFeed.get_by_id(notification.tenant_id)
        _move(feed, max(feed.mailed_sequence, notification.sequence or 0))
