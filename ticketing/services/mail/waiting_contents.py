"""What mails about places on a waiting list say, and whether there is still something to say."""

from __future__ import annotations

from datetime import timedelta

from ticketing import clock, links
from ticketing.config import Config
from ticketing.constants import IntentStatus, Publication
from ticketing.models.notifications import Mail
from ticketing.models.waiting_list import WaitingListEntry
from ticketing.services import chains
from ticketing.services.mail import order_contents, values
from ticketing.services.mail.plain_text import plain
from ticketing.services.mail.values import TITLE, Facts
from ticketing.waiting_list import OPEN, UNCONFIRMED_FOR, EntryStatus

_SOON = timedelta(minutes=1)


def joined(mail: Mail, config: Config) -> Facts | None:
    """How to confirm that one waits. If that was done before, the link of the place again."""
    entry = _entry(mail)
    if entry is None or entry.status not in OPEN:
        return None
    return {
        **_common(entry, config),
        "is_confirmed": entry.status != EntryStatus.UNCONFIRMED,
        "until": entry.created_at + UNCONFIRMED_FOR,
    }


def offered(mail: Mail, config: Config) -> Facts | None:
    """What somebody who waited can buy, and until when. Nothing once it was paid, or has ended."""
    entry = _entry(mail)
    intent = None if entry is None else entry.intent
    if entry is None or intent is None or intent.status != IntentStatus.AWAITING_PAYMENT:
        return None
    if clock.now() > intent.expires_at - _SOON or intent.link_generation:
        return None  # too late, or the order's new link is for another address
    return {
        **_common(entry, config),
        **order_contents.bought(intent),
        "order_url": values.order_link(intent, config),
        "has_questions": entry.event.order_questions > 0,
        "network": chains.name_of(intent.chain_id, config) if intent.chain_id else None,
        "until": intent.expires_at,
    }


def ended(mail: Mail, config: Config) -> Facts | None:
    """That nothing became free in time, or that the sale was canceled."""
    entry = _entry(mail)
    if entry is None:
        return None
    return {
        **_common(entry, config),
        "is_canceled": entry.status == EntryStatus.CANCELED,
        "is_event_canceled": entry.event.status == Publication.CANCELED,
    }


def _common(entry: WaitingListEntry, config: Config) -> Facts:
    """Return what every such mail says. It has no text that strangers wrote."""
    return {
        "event": values.event(entry.event, config),
        "ticket_type": plain(entry.ticket_type.name, TITLE),
        "quantity": entry.quantity,
        "place_url": f"{config.public_url}{links.place(entry.id, config.keyring)}",
        "spoken": entry.locale,
    }


def _entry(mail: Mail) -> WaitingListEntry | None:
    found: WaitingListEntry | None = WaitingListEntry.get_or_none(
        WaitingListEntry.id == mail.subject
    )
    return found
