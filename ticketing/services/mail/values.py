"""How mails show times, places, amounts and links."""

from __future__ import annotations

from typing import Any

from ticketing import formats, links
from ticketing.config import Config
from ticketing.constants import EventType
from ticketing.models.admissions import Admission
from ticketing.models.events import Event
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services import chains
from ticketing.services.catalog import public_listing
from ticketing.services.mail.plain_text import plain

SHORT, NAME, TITLE, ADDRESS, PLACE = 120, 80, 200, 254, 500
"""The most characters of: a title in a subject line, a name, a title, an email address, a place."""


def order_link(intent: PaymentIntent, config: Config) -> str:
    """Return the link to an order's page. Everybody who has it can act as the buyer."""
    return f"{config.public_url}{links.order(intent.id, config.keyring)}"


def ticket(admission: Admission, config: Config) -> dict[str, str]:
    """Return the code of an admission, and the link to its page."""
    return {"code": admission.code, "url": f"{config.public_url}{links.ticket(admission.code)}"}


def event(of: Event, config: Config) -> dict[str, Any]:
    """Return what a mail says of an event. Its join URL is only on the page of a ticket.

    `url` is the event's page. It is None if the event is not published.
    """
    return {
        "url": public_listing.page_of(of, config),
        "title": plain(of.title, TITLE),
        "short_title": plain(of.title, SHORT),
        "start": formats.moment(of.start_at, of.timezone),
        "end": None if of.end_at is None else formats.moment(of.end_at, of.timezone),
        "place": plain(of.venue, PLACE) if of.venue else None,
        "is_online": of.type != EventType.IN_PERSON,
    }


def money(amount: int, currency: str, chain_id: int | None, config: Config) -> dict[str, str]:
    """Return an amount of micro-units with its token, and the name of its network."""
    return {"amount": formats.amount(amount, currency), "network": chains.name_of(chain_id, config)}
