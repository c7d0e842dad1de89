"""Plan mails from the feed: what follows from a notification becomes rows of `mails`, once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any

from peewee import ModelSelect

from ticketing import clock
from ticketing.constants import Publication
from ticketing.credentials import Keyring
from ticketing.db.connection import locked, write_transaction
from ticketing.models.notifications import Mail, Notification, NotificationFeed
from ticketing.models.prepared import Prepared
from ticketing.notification_types import MailKind, MailStatus, NotificationType
from ticketing.services.mail import recipients
from ticketing.services.mail.recipients import Page
from ticketing.services.notifications import mail_queue

AT_ONCE = 200
"""How many notifications of a tenant are planned in one transaction."""

_ABOUT_ONE: dict[str, tuple[MailKind, str]] = {
    NotificationType.INTENT_CONFIRMED: (MailKind.ORDER_CONFIRMED, "intent_id"),
    NotificationType.REFUND_DUE: (MailKind.REFUND_DUE, "intent_id"),
    NotificationType.REFUND_ADDRESS_CHANGED: (MailKind.REFUND_ADDRESS_CHANGED, "intent_id"),
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

_MOVES = {"start_at", "timezone", "venue"}
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
        found = _next(feed)
        few = list(takewhile(lambda each: not _is_for_everybody(each), found))
        if found and not few:
            return found[0]
        is_all = len(few) == len(found) < AT_ONCE
        mail_queue.add(_rows(few))
        _move(feed, feed.last_sequence if is_all else few[-1].sequence or 0)
    return None


def _next(feed: NotificationFeed) -> list[Notification]:
    found = Notification.select().where(
        Notification.tenant == feed.tenant_id,
        Notification.sequence > feed.mailed_sequence,
        Notification.sequence <= feed.last_sequence,
        Notification.created_at > clock.now() - mail_queue.LIFE,
        Notification.type.in_(_READ),
    )
    return list(found.order_by(Notification.sequence).limit(AT_ONCE))


def _move(feed: NotificationFeed, sequence: int) -> None:
    """Move a feed on, unless another process did."""
    NotificationFeed.update(mailed_sequence=sequence).where(
        NotificationFeed.tenant == feed.tenant_id,
        NotificationFeed.mailed_sequence == feed.mailed_sequence,
    ).execute()


def _rows(found: Sequence[Notification]) -> list[Row]:
    rows = [row for each in found for row in _wanted(each)]
    reachable = recipients.reachable(row["subject"] for row in rows)
    confirmed = _told_of_confirmation(
        row["subject"] for row in rows if row["kind"] == MailKind.ORDER_CONFIRMED
    )
    planned = []
    for row in rows:
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
        yield mail_queue.new(tenant_id, kind, data[field], generation=generation, **origin)


def _is_of_an_order(notification: Notification, data: dict[str, Any]) -> bool:
    """Return whether it is an admission that the mail of its order brings."""
    is_issued = notification.type == NotificationType.ADMISSION_ISSUED
    return is_issued and data["intent_id"] is not None


def _told_of_confirmation(intent_ids: Iterator[str]) -> set[str]:
    """Return the orders whose buyer was told, or will be, that they are confirmed."""
    told = Mail.select(Mail.subject).where(
        Mail.subject.in_(list(intent_ids)),
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
    return is_published and not _MOVES.isdisjoint(data["changed"])


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
        rows = _rows_of(page, kind, notification, keyring)
        with write_transaction():
            mail_queue.add(rows)
    with write_transaction():
        feed = NotificationFeed.get_by_id(notification.tenant_id)
        _move(feed, max(feed.mailed_sequence, notification.sequence or 0))


def _rows_of(page: Page, kind: MailKind, notification: Notification, keyring: Keyring) -> list[Row]:
    return [
        mail_queue.new(
            notification.tenant_id,
            kind,
            subject,
            notification_id=notification.id,
            recipient_digest=recipients.digest(keyring.current, address),
        )
        for subject, address in page
    ]
