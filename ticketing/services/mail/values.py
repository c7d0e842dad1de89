"""What mails say of events, tickets and money, and their links."""

from __future__ import annotations

import json
from typing import Any

from ticketing import links, places
from ticketing.config import Config
from ticketing.constants import EventType, Publication
from ticketing.models.admissions import Admission
from ticketing.models.events import Event
from ticketing.models.notifications import Mail, Notification
from ticketing.models.order_emails import OrderEmail
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.ticket_types import TicketType
from ticketing.services import chains
from ticketing.services.catalog import public_listing
from ticketing.services.mail.plain_text import plain
from ticketing.services.orders import transfers

SHORT, NAME, TITLE, ADDRESS, PLACE = 120, 80, 200, 254, 500
"""The most characters of: a title in a subject line, a name, a title, an email address, a place."""

Facts = dict[str, Any]
"""Values for the templates of a mail. Times and amounts are numbers: the templates format them."""


def data_of(mail: Mail) -> Facts | None:
    """Return the data of the notification that a mail follows from. None if it was deleted."""
    notification = Notification.get_or_none(Notification.id == mail.notification_id)
    return None if notification is None else json.loads(notification.data)


def order_link(intent: PaymentIntent, config: Config) -> str:
    """Return the link to an order's page. Everybody who has it can act as the buyer."""
    return f"{config.public_url}{links.order(intent.id, intent.link_generation, config.keyring)}"


def mailbox_link(row: OrderEmail, config: Config) -> str | None:
    """Return the link of the button for an order's address. None: it has none, or it has ended."""
    if row.salt is None:
        return None
    path = links.mailbox(row.intent_id, row.place, row.salt, config.keyring)
    return f"{config.public_url}{path}"


def ticket_link(admission: Admission, config: Config) -> str:
    """Return the link to the page of a ticket."""
    return f"{config.public_url}{links.ticket(admission.code)}"


def ticket(admission: Admission, of_type: TicketType, config: Config, *, says_name: bool) -> Facts:
    """Return what a mail says of an admission that has its QR code.

    `says_name`: also its holder's name, which the buyer wrote.
    """
    admission.ticket_type = of_type
    return {
        "code": admission.code,
        "url": ticket_link(admission, config),
        "qr": admission.shown_qr,
        "ticket_type": plain(of_type.name, TITLE),
        "holder": plain(admission.holder_name or "", NAME) if says_name else "",
        "can_be_passed_on": transfers.obstacle(admission) is None,
    }


def event(of: Event, config: Config) -> Facts:
    """Return what a mail says of an event. Its join URL is only on the page of a ticket.

    `url` is the event's page. It is None if the event is not published.
    """
    place = plain(of.venue, PLACE) if of.venue else None
    return {
        "url": public_listing.page_of(of, config),
        "title": plain(of.title, TITLE),
        "short_title": plain(of.title, SHORT),
        "start_at": of.start_at,
        "end_at": of.end_at,
        "doors_open_at": of.doors_open_at,
        "timezone": of.timezone,
        "locale": of.locale,
        "place": place,
        "map_url": place and places.map_url(place),
        "is_online": of.type != EventType.IN_PERSON,
        "picture": of.image_digest,
    }


def calendar_url(of: Event, config: Config) -> str | None:
    """Return the URL of the calendar file of an event. None if it is not published."""
    if of.status != Publication.PUBLISHED:
        return None
    return f"{config.public_url}/v1/public/tenants/{of.tenant.slug}/events/{of.id}.ics"


def money(amount: int, currency: str, chain_id: int | None, config: Config) -> Facts:
    """Return an amount of micro-units with its token, and the name of its network."""
    return {
        "amount": amount,
        "currency": currency,
        "network": chains.name_of(chain_id, config),
    }
