"""Mails for tests: facts in the feed, orders that need no chain, a run of the mailer."""

from datetime import UTC, datetime
from email.message import EmailMessage
from typing import Any

from flask import Flask
from icalendar import Calendar, Event

from tests.support import order_pages
from tests.support.books import change_home
from tests.support.factories import Buyer, Organizer
from ticketing.models.base import all_but
from ticketing.models.notifications import Mail, Notification, NotificationFeed
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import PaymentIntent
from ticketing.notification_types import NotificationType
from ticketing.services.notifications import feed
from ticketing.services.orders import admissions
from ticketing.worker.mailing import Mailer

ADA = {"name": "Ada Lovelace", "email": "ada@example.org"}
PUBLIC_URL = "https://tickets.example.org"
SENDER = "tickets@example.org"
START = datetime(2031, 6, 1, 18, 0, tzinfo=UTC)
WHEN = "Sunday, 1 June 2031, 20:00 (Europe/Berlin)"
"""START, as mails write it."""


def tell(tenant_id: str, *facts: tuple[str, dict[str, Any]]) -> list[str]:
    """Put these facts into a tenant's feed, and remove what the service has recorded itself."""
    Notification.delete().where(Notification.tenant == tenant_id).execute()
    NotificationFeed.insert(tenant=tenant_id).on_conflict_ignore().as_rowcount().execute()
    ids = feed.record_all(tenant_id, [(NotificationType(type), data) for type, data in facts])
    last = NotificationFeed.get_by_id(tenant_id).last_sequence
    for sequence, each in enumerate(ids, last + 1):
        Notification.update(sequence=sequence).where(Notification.id == each).execute()
    NotificationFeed.update(last_sequence=last + len(ids)).where(
        NotificationFeed.tenant == tenant_id
    ).execute()
    return ids


def send(app: Flask) -> str | None:
    """Run a new mailer once, and return what it says of the server."""
    mailer = Mailer(app.extensions["ticketing"])
    try:
        return mailer.run()
    finally:
        mailer.leave()


def confirmed(organizer: Organizer, ticket: dict[str, Any], **fields: Any) -> Buyer:
    """A buyer whose order is confirmed in the database, without a payment."""
    buyer = organizer.buyer(ticket, **{"buyer": ADA, **fields})
    change_intent(buyer, status="confirmed", confirmed_at=datetime.now(UTC))
    admissions.issue(PaymentIntent.get_by_id(buyer.intent["id"]))
    return buyer


def change_intent(buyer: Buyer, **columns: Any) -> None:
    """Change an order, or the account that it is paid in, as another part of the service would."""
    of_home = {name: columns.pop(name) for name in list(columns) if name in _OF_HOME}
    if columns:
        PaymentIntent.update(columns).where(PaymentIntent.id == buyer.intent["id"]).execute()
    if of_home:
        change_home(buyer.intent["id"], **of_home)


_OF_HOME = {each.name for each in all_but(OrderAccount.id)} - {
    each.name for each in all_but(PaymentIntent.id)
}


def confirm(buyer: Buyer) -> tuple[str, dict[str, Any]]:
    """The fact that an order is confirmed."""
    return "intent.confirmed", {"intent_id": buyer.intent["id"]}


def statuses() -> list[tuple[str, str]]:
    """Return the kind and status of every mail, the oldest first."""
    return [(mail.kind, mail.status) for mail in Mail.select().order_by(Mail.id)]


def text_of(mail: EmailMessage) -> str:
    """Return the plain text of a mail."""
    part = mail.get_body(("plain",))
    assert part is not None
    return part.get_content()


def html_of(mail: EmailMessage) -> str:
    """Return the HTML of a mail."""
    part = mail.get_body(("html",))
    assert part is not None
    return part.get_content()


def order_link(buyer: Buyer) -> str:
    """Return the link to the page of an order."""
    return PUBLIC_URL + order_pages.link(buyer)


def calendar_of(mail: EmailMessage) -> Event:
    """Return the event in the only attachment of a mail."""
    (file,) = mail.iter_attachments()
    assert (file.get_content_type(), file.get_filename()) == ("text/calendar", "event.ics")
    (entry,) = Calendar.from_ical(file.get_content()).walk("VEVENT")
    return entry
