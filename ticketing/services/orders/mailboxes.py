"""The email addresses of an order: which of them are the buyer's, and which get a warning.

A mailbox of the buyer is the address that the order had at its first payment, or one that its link
set and that stood for a day. The organizer's side can set any address, but it makes none of them a
mailbox of the buyer.

Example: Ada pays for an order with ada@old. Its link sets ada@new: ada@old is told, and ada@new is
hers a day later, or as soon as ada@old confirms it. Then somebody at the organizer sets x@evil:
ada@new is told, with a button that puts it back, and x@evil never becomes hers by waiting.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from ticketing import clock, credentials, ids
from ticketing.constants import IntentStatus
from ticketing.models.order_emails import EmailPlace, OrderEmail, SetBy
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services.orders import accounts

COUNTS_AFTER = timedelta(hours=24)
"""How long an address that the link set must stand before it is a mailbox of the buyer."""

Rows = dict[EmailPlace, OrderEmail]


@dataclass(frozen=True)
class Mailboxes:
    """`buyers`: addresses that the buyer has proven; only these get buttons. `told`: at most three:
    the one at the first payment, the one before, and the present one.

    `changed_by_staff_at`: when the organizer's side last changed the address, unless a mailbox of
    the buyer has confirmed one since. None: it didn't. `is_put_back`: a button put an address back,
    so the link alone cannot change it any more.
    """

    buyers: tuple[str, ...]
    told: tuple[str, ...]
    changed_by_staff_at: datetime | None = None
    is_put_back: bool = False


def of(intent: PaymentIntent) -> Mailboxes:
    """Return the mailboxes of an order. Without an address, or once erased, it has none."""
    rows, now = rows_of(intent), clock.now()
    present = () if intent.buyer_email is None else (intent.buyer_email,)
    if not rows:
        return Mailboxes(present, present)
    every = rows.values()
    buyers = (row.email for row in every if counts(row, now))
    told = (row.email for row in every)
    changes = [row.organizer_at for row in every if row.organizer_at is not None]
    return Mailboxes(
        tuple(dict.fromkeys(buyers)),
        tuple(dict.fromkeys([*told, *present])),
        changed_by_staff_at=max(changes, default=None),
        is_put_back=any(row.put_back_at is not None for row in every),
    )


def changed_by_staff(intent_ids: Collection[str]) -> dict[str, datetime]:
    """Return when the organizer's side last changed the address of each order: see Mailboxes."""
    rows: Iterable[Any] = (
        OrderEmail.select(OrderEmail.intent, OrderEmail.organizer_at)
        .where(OrderEmail.intent.in_(list(intent_ids)), OrderEmail.organizer_at.is_null(False))
        .order_by(OrderEmail.organizer_at)
        .tuples()
    )
    return dict(rows)


def rows_of(intent: PaymentIntent) -> Rows:
    """Return the rows of an order's addresses, by their places. Empty if it never changed."""
    found = OrderEmail.select().where(OrderEmail.intent == intent.id).order_by(OrderEmail.place)
    return {EmailPlace(row.place): row for row in found}


def with_button(intent_id: str, place: str) -> OrderEmail | None:
    """Return the row of an order's address whose button was mailed. None: it has none."""
    if not ids.is_id(ids.INTENT, intent_id) or place not in [
        str(each.value) for each in EmailPlace
    ]:
        return None
    row: OrderEmail | None = OrderEmail.get_or_none(
        OrderEmail.intent == intent_id,
        OrderEmail.place == int(place),
        OrderEmail.salt.is_null(False),
    )
    return row


def counts(row: OrderEmail, now: datetime) -> bool:
    """Return whether an address is a mailbox of the buyer."""
    return row.counts_from is not None and row.counts_from <= now


def last_proven(rows: Rows) -> OrderEmail | None:
    """Return the mailbox of the buyer before the present address. None: there is none."""
    return rows.get(EmailPlace.BEFORE) or rows.get(EmailPlace.FIRST)


def keep(intent: PaymentIntent, email: str, set_by: SetBy) -> Rows:
    """Keep what the addresses of a locked order are once `email` replaces the present one.

    Return the rows. Before the first payment, the buyer may correct the address: then there are
    none. An address that was replaced before it counted is forgotten.
    """
    rows, now = rows_of(intent), clock.now()
    if not rows and set_by is SetBy.BUYER and not _is_settled(intent):
        return rows
    if not rows and intent.buyer_email is not None:
        since = intent.created_at
        rows[EmailPlace.FIRST] = OrderEmail(
            email=intent.buyer_email, set_by=SetBy.BUYER, at=since, counts_from=since
        )
    present = rows.pop(EmailPlace.PRESENT, None)
    if present is not None and counts(present, now):
        # Its salt confirmed it. Another one puts it back.
        present.salt = None
        rows[EmailPlace.BEFORE if EmailPlace.FIRST in rows else EmailPlace.FIRST] = present
    if email not in [row.email for row in rows.values()]:
        rows[EmailPlace.PRESENT] = _set_now(email, set_by, present)
    if (proven := last_proven(rows)) is not None and proven.salt is None:
        proven.salt = credentials.new_change_salt()
    _store(intent, rows)
    return rows


def _set_now(email: str, set_by: SetBy, former: OrderEmail | None) -> OrderEmail:
    """Return the row of an address that replaces a `former` one now."""
    now = clock.now()
    if set_by is SetBy.ORGANIZER:
        return OrderEmail(email=email, set_by=set_by, at=now, organizer_at=now)
    return OrderEmail(
        email=email,
        set_by=set_by,
        at=now,
        counts_from=now + COUNTS_AFTER,
        salt=credentials.new_change_salt(),
        organizer_at=None if former is None else former.organizer_at,
    )


def put_back(intent: PaymentIntent, place: EmailPlace) -> None:
    """Make the address at a place the present one in the rows of a locked order.

    What came after it ends. From now on, the order's link alone cannot change the address.
    """
    rows = {each: row for each, row in rows_of(intent).items() if each <= place}
    rows[place].put_back_at = clock.now()
    _store(intent, rows)


def confirm(intent: PaymentIntent) -> None:
    """Make the present address of a locked order a mailbox of the buyer, as the one before said."""
    rows = rows_of(intent)
    present, proven = rows[EmailPlace.PRESENT], last_proven(rows)
    present.counts_from, present.organizer_at = clock.now(), None
    if proven is not None:
        proven.salt = None
    _store(intent, rows)


def end_buttons(intent: PaymentIntent) -> None:
    """End the buttons of all mails about an order's addresses, and let its link change them."""
    ended = {"salt": None, "put_back_at": None}
    OrderEmail.update(ended).where(OrderEmail.intent == intent.id).execute()


def _is_settled(intent: PaymentIntent) -> bool:
    """Return whether the address at the first payment is known. A free order has no payment."""
    return intent.status == IntentStatus.CONFIRMED or accounts.has_money(intent)


def _store(intent: PaymentIntent, rows: Rows) -> None:
    OrderEmail.delete().where(OrderEmail.intent == intent.id).execute()
    for place, row in rows.items():
        row.intent, row.place = intent, place
        row.save(force_insert=True)
