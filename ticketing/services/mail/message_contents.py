"""What mails say that organizers write or ask for: messages, reminders, and sales."""

from __future__ import annotations

from typing import Any

from peewee import fn

from ticketing.config import Config
from ticketing.constants import AdmissionStatus, Publication
from ticketing.models.events import Event
from ticketing.models.members import Member
from ticketing.models.messages import Message
from ticketing.models.notifications import Mail
from ticketing.models.payment_intents import PaymentIntent
from ticketing.notification_types import MessageStatus
from ticketing.services.access import actors
from ticketing.services.mail import order_contents, recipients, sale_mails, values
from ticketing.services.mail.plain_text import plain
from ticketing.services.mail.values import NAME, SHORT, TITLE, Facts, data_of

MOST_TEXT = 5000
_MOST_EVENTS = 50
"""Events that a mail about the sales of a day names."""


def message(mail: Mail, config: Config) -> Facts | None:
    """A message of the organizer, while it still goes to this order or ticket."""
    found = _message(mail)
    if found is None or found.status != MessageStatus.SENDING:
        return None
    subject = order_contents.subject_of(mail)
    if subject is None or not recipients.gets_message(found, mail.subject):
        return None
    if isinstance(subject, PaymentIntent):
        url = values.order_link(subject, config)
    else:  # its code belongs to the holder of now, who gets this mail
        url = values.ticket_link(subject, config)
    return {
        **_written(found, config),
        "spoken": order_contents.spoken(subject),
        "is_canceled": subject.event.status == Publication.CANCELED,
        "own_url": url,
    }


def message_preview(mail: Mail, config: Config) -> Facts | None:
    """The same for the member who writes it, without a ticket."""
    found, member = _message(mail), _member(mail)
    if found is None or member is None:
        return None
    return {**_written(found, config), "spoken": None, "is_canceled": False, "own_url": None}


def message_written(mail: Mail, config: Config) -> Facts | None:
    """That somebody wrote to the people of an event for the first time."""
    found, member = _message(mail), _member(mail)
    if found is None or member is None:
        return None
    by = actors.names(mail.tenant_id, [found.created_by]).get(found.created_by, found.created_by)
    return {
        "event": values.event(found.event, config),
        "by": plain(by, NAME),
        "subject_line": plain(found.subject, SHORT),
        "text": _lines(found.text),
        "count": found.recipients,
        "messages_url": f"{config.public_url}/console/events/{found.event_id}/messages",
    }


def reminder(mail: Mail, config: Config) -> Facts | None:
    """The tickets again, before the event."""
    subject = order_contents.subject_of(mail)
    if subject is None or subject.event.status != Publication.PUBLISHED:
        return None
    if isinstance(subject, PaymentIntent):
        found = order_contents.order_confirmed(mail, config)
        return found and {**found, "own_url": found["order_url"]}
    if subject.status != AdmissionStatus.VALID or subject.redeemed_at is not None:
        return None
    found = order_contents.ticket(mail, config)
    return found and {**found, "own_url": found["tickets"][0]["url"]}


def sale(mail: Mail, config: Config) -> Facts | None:
    """One order that was paid, for an administrator."""
    data, member = data_of(mail), _member(mail)
    if data is None or member is None:
        return None
    intent = PaymentIntent.get_or_none(PaymentIntent.id == data["intent_id"])
    if intent is None:
        return None
    return {
        "event": values.event(intent.event, config),
        **order_contents.bought(intent),
        "buyer": plain(intent.buyer_name or intent.buyer_email or "", NAME),
        "sold_url": f"{config.public_url}/console/orders/{intent.id}",
    }


def sales_of_day(mail: Mail, config: Config) -> Facts | None:
    """What was sold on the last day, by event, for an administrator."""
    if _member(mail) is None:
        return None
    begin, end = sale_mails.day_before(mail.created_at)
    sums = (fn.SUM(PaymentIntent.quantity), fn.SUM(PaymentIntent.amount))
    sold = sale_mails.sold_between(mail.tenant_id, begin, end)
    found: Any = sold.select(PaymentIntent.event, *sums).group_by(PaymentIntent.event).tuples()
    rows = sorted((-int(amount), event_id, int(seats)) for event_id, seats, amount in found)
    if not rows:
        return None
    shown = [event_id for _, event_id, _ in rows[:_MOST_EVENTS]]
    events = Event.select(Event.id, Event.title).where(Event.id.in_(shown))
    titles = {each.id: plain(each.title, TITLE) for each in events}
    return {
        "sold": [
            {"name": titles[event_id], "count": seats, "amount": -amount}
            for amount, event_id, seats in rows[:_MOST_EVENTS]
        ],
        "seats": sum(seats for _, _, seats in rows),
        "amount": -sum(amount for amount, _, _ in rows),
        "day": begin.date(),
        "sold_url": f"{config.public_url}/console",
    }


def _written(found: Message, config: Config) -> dict[str, Any]:
    return {
        "event": values.event(found.event, config),
        "subject_line": plain(found.subject, SHORT),
        "text": _lines(found.text),
    }


def _lines(text: str) -> list[str]:
    """Return the lines of a text that an organizer wrote. Links in it are text."""
    return [plain(line, MOST_TEXT) for line in text.splitlines()]


def _message(mail: Mail) -> Message | None:
    found: Message | None = Message.get_or_none(Message.id == mail.message_id)
    return found


def _member(mail: Mail) -> Member | None:
    """Return the member who gets a mail. None if they were disabled."""
    found: Member | None = Member.get_or_none(
        Member.id == mail.subject, Member.disabled_at.is_null()
    )
    return found
