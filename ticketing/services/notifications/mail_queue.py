"""The rows of mails: which are due, and what became of each.

A mail is claimed before it is sent: its next attempt is set already. So two processes never send
one mail at the same time, and a process that was killed delays it by a minute.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from peewee import Case, IntegrityError, ModelSelect, fn

from ticketing import clock, ids
from ticketing.backoff import Backoff
from ticketing.db import pruning
from ticketing.models.base import literal
from ticketing.models.notifications import Mail
from ticketing.models.prepared import Prepared
from ticketing.models.tenants import Tenant
from ticketing.notification_types import MailKind, MailStatus

LIFE = timedelta(hours=48)
"""For how long a mail is tried."""

WHILE_PAYING = timedelta(seconds=60)
"""After so long an order is still to be paid: its buyer may have left, and needs its link."""

TO_EVERYBODY = (
    MailKind.EVENT_CANCELED,
    MailKind.EVENT_MOVED,
    MailKind.ANSWERS_MISSING,
    MailKind.REMINDER,
    MailKind.MESSAGE,
    MailKind.WAITING_LIST_ENDED,
)
"""Mails of which there may be thousands at once. All others are sent before them."""

AT_ONCE = 20
"""Few, so that a new confirmation does not wait for many others."""

_BACKOFF = Backoff(
    (timedelta(minutes=1), timedelta(minutes=5), timedelta(minutes=15), timedelta(hours=1)),
    jitter=0.1,
)
_WAITING = Mail.status == literal(MailStatus.WAITING)

_ENDED = {"next_attempt_at": None, "recipient": None}


@Prepared
def _due(now: Any, after: Any) -> ModelSelect[Mail]:
    later = [(each, 2) for each in TO_EVERYBODY]
    rank = Case(Mail.kind, [(MailKind.ORDER_CONFIRMED, 0), *later], 1)
    of_tenant = {"partition_by": [Mail.tenant], "order_by": [rank, Mail.next_attempt_at, Mail.id]}
    turn = fn.ROW_NUMBER().over(**of_tenant)
    waiting = Mail.select(Mail.id, rank.alias("rank"), turn.alias("turn"))
    turns = waiting.where(_WAITING, Mail.next_attempt_at <= now).alias("turns")
    return (
        Mail.select(Mail, Tenant)
        .join(Tenant)
        .join_from(Mail, turns, on=(Mail.id == turns.c.id))
        .order_by(turns.c.turn, turns.c.rank, Mail.tenant <= after, Mail.tenant)
        .limit(AT_ONCE)
    )


def new(tenant_id: str, kind: MailKind, subject: str, **columns: Any) -> dict[str, Any]:
    """Return the columns of a new mail, which is due at once."""
    now = clock.now()
    return {
        "id": ids.new(ids.MAIL),
        "tenant": tenant_id,
        "kind": kind,
        "subject": subject,
        "generation": None,
        "notification_id": None,
        "message_id": None,
        "recipient": None,
        "recipient_digest": None,
        "amount": None,
        "status": MailStatus.WAITING,
        "attempts": 0,
        "created_at": now,
        "next_attempt_at": now,
        **columns,
    }


def add(rows: Iterable[dict[str, Any]]) -> None:
    """Insert mails, except those that were planned before."""
    if rows := list(rows):
        Mail.insert_many(rows).on_conflict_ignore().as_rowcount().execute()


def replace(row: dict[str, Any]) -> None:
    """Insert a mail instead of those of its kind about its subject that wait, for its recipient."""
    same = Mail.select().where(Mail.subject == row["subject"], Mail.kind == row["kind"])
    for mail in list(same):
        if mail.status == MailStatus.WAITING and mail.recipient == row["recipient"]:
            withdraw(mail)
    add([row])


def correct(mail: Mail, **columns: Any) -> bool:
    """Change a mail that waits. Return whether it still does."""
    return bool(Mail.update(columns).where(Mail.id == mail.id, _WAITING).execute())


def withdraw(mail: Mail) -> None:
    """Delete a mail that is not needed any more, as nobody expects it."""
    Mail.delete().where(Mail.id == mail.id, _WAITING).execute()


def due(after: str) -> list[Mail]:
    """Return some mails that are to be sent now: the most urgent of each tenant, then the second.

    In each turn, confirmations of orders go first, and mails to everybody of an event last. Within
    these, the tenants come in the order of their ids, beginning after the tenant `after`.
    """
    return _due.rows(now=clock.now(), after=after)


def claim(mail: Mail, recipient_digest: str, **counted: str | None) -> bool:
    """Begin an attempt. False if another process has begun it, or the recipient has this mail.

    The latter can happen if an address was changed after mails to everybody were planned.
    `counted`: the columns by which mails are counted that strangers can cause.
    """
    try:
        return _change(
            mail,
            attempts=mail.attempts + 1,
            next_attempt_at=min(
                clock.now() + _BACKOFF.pause(mail.attempts + 1), mail.created_at + LIFE
            ),
            recipient_digest=recipient_digest,
            **counted,
        )
    except IntegrityError:
        drop(mail, "the recipient gets this mail already")
        return False


def give_back(mail: Mail) -> None:
    """Undo a claim, because the trouble was the server's and not the mail's."""
    Mail.update(attempts=mail.attempts, next_attempt_at=mail.next_attempt_at).where(
        Mail.id == mail.id, _WAITING
    ).execute()


def postpone(mail: Mail, until: datetime) -> None:
    """Let a mail wait without an attempt, at most until it is dropped."""
    _change(mail, next_attempt_at=min(until, mail.created_at + LIFE))


def failed(mail: Mail, error: str) -> None:
    """Store why a claimed mail could not be sent. It is tried again."""
    Mail.update(error=error).where(Mail.id == mail.id, _WAITING).execute()


def sent(mail: Mail) -> None:
    """Mark a mail as sent. It no longer has an address."""
    _end(mail, MailStatus.SENT, None)


def drop(mail: Mail, error: str) -> None:
    """Mark a mail as never to be sent. It no longer has an address."""
    _end(mail, MailStatus.DROPPED, error)


def drop_old() -> int:
    """Drop mails that were tried for LIFE. Return how many."""
    columns = {
        **_ENDED,
        "status": MailStatus.DROPPED,
        "ended_at": clock.now(),
        "error": fn.COALESCE(Mail.error, "not sent within 48 hours"),
    }
    old = Mail.update(columns).where(_WAITING, Mail.created_at <= clock.now() - LIFE)
    return int(old.execute())


def forget_old(days: int) -> None:
    """Delete some mails that ended more than `days` ago, the oldest first."""
    is_old = Mail.ended_at < clock.now() - timedelta(days=days)
    pruning.delete_some(Mail.id, is_old, first=Mail.ended_at)


def drop_of_message(message_id: str) -> None:
    """Drop the mails of a message that wait."""
    dropped = {"status": MailStatus.DROPPED, "ended_at": clock.now(), "error": "canceled"}
    Mail.update({**_ENDED, **dropped}).where(Mail.message_id == message_id, _WAITING).execute()


def about(tenant_id: str, subjects: Sequence[str]) -> Sequence[Mail]:
    """Return the mails about these subjects that are kept, the oldest first."""
    found = Mail.select().where(Mail.subject.in_(subjects), Mail.tenant == tenant_id)
    return list(found.order_by(Mail.id))


def erase(subjects: ModelSelect[Any]) -> None:
    """Drop the waiting mails about these subjects, and erase what the others say of people."""
    about_them = Mail.subject.in_(subjects)
    digests = ("recipient_digest", "mailbox", "client", "client_site", "request_digest")
    said = dict.fromkeys((*digests, "error"))
    Mail.update(said).where(about_them).execute()
    dropped = {"status": MailStatus.DROPPED, "ended_at": clock.now(), "error": "erased"}
    Mail.update({**_ENDED, **dropped}).where(about_them, _WAITING).execute()


def _end(mail: Mail, status: MailStatus, error: str | None) -> None:
    Mail.update(status=status, ended_at=clock.now(), error=error, **_ENDED).where(
        Mail.id == mail.id, _WAITING
    ).execute()


def _change(mail: Mail, **columns: Any) -> bool:
    """Change a mail that nobody has claimed since it was read. Return whether that is so."""
    as_read = Mail.update(columns).where(
        Mail.id == mail.id,
        _WAITING,
        Mail.attempts == mail.attempts,
        Mail.next_attempt_at == mail.next_attempt_at,
    )
    return bool(as_read.execute() == 1)
