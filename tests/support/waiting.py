"""Waiting lists for tests: join by the API, confirm on the page, offer as the worker does."""

from typing import Any

from flask import Flask
from werkzeug.test import TestResponse

from tests.conftest import SECRET_KEY
from tests.support.admissions import admissions_of, void
from tests.support.factories import Buyer, Organizer
from ticketing import links
from ticketing.credentials import Keyring, client_secret
from ticketing.models.notifications import Mail
from ticketing.models.ticket_types import TicketType
from ticketing.models.waiting_list import WaitingListEntry
from ticketing.services.payments import reconciliation
from ticketing.services.waiting_list.offers import Offering
from ticketing.worker.loop import look_once

MAIL = {
    "SMTP_URL": "smtp://127.0.0.1:9",
    "MAIL_FROM": "tickets@example.org",
    "PUBLIC_URL": "http://localhost",
}
"""The settings of a service that writes mails. Nothing sends them here."""

SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin"}


def ask(organizer: Organizer, ticket: dict[str, Any], email: str, **fields: Any) -> TestResponse:
    """Join as a storefront does, which has no limits."""
    body = {"event_id": ticket["event_id"], "ticket_id": ticket["id"], "email": email, **fields}
    storefront = organizer.with_headers({"X-API-Key": organizer.admin_key})
    return storefront.post(f"{organizer.checkout}/waiting-list", body)


def entry_of(email: str) -> WaitingListEntry:
    """Return the newest entry of an address, as it is now."""
    of_address = WaitingListEntry.select().where(WaitingListEntry.email == email)
    return of_address.order_by(WaitingListEntry.id.desc()).get()


def page_of(entry: WaitingListEntry) -> str:
    """Return the path of the page of a place."""
    return links.place(entry.id, Keyring(SECRET_KEY))


def press(app: Flask, entry: WaitingListEntry, button: str, **form: str) -> TestResponse:
    """Send a form of the page of a place."""
    path, origin = f"{page_of(entry)}/{button}", app.extensions["ticketing"].public_url
    return app.test_client().post(path, data=form, headers=SAME_ORIGIN, base_url=origin)


def wait(organizer: Organizer, ticket: dict[str, Any], email: str, **fields: Any) -> Any:
    """Join and confirm. Return the entry."""
    answer = ask(organizer, ticket, email, **fields)
    assert answer.status_code == 202, answer.json
    entry = entry_of(email)
    answer = press(organizer.app, entry, "confirm")
    assert answer.status_code == 303, answer.text
    return WaitingListEntry.get_by_id(entry.id)


def offer(app: Flask) -> None:
    """Offer what is free, as the worker does."""
    offering = Offering(app.extensions["ticketing"])
    offering.run()
    offering.leave()


def work(app: Flask) -> None:
    """Run all that the worker does, once. The mail server does not answer."""
    look_once(app.extensions["ticketing"])


def status(entry: WaitingListEntry) -> str:
    """Return what an entry is now."""
    return str(WaitingListEntry.get_by_id(entry.id).status)


def buyer_of(organizer: Organizer, entry: WaitingListEntry) -> Buyer:
    """Return the buyer of what was offered."""
    intent_id = WaitingListEntry.get_by_id(entry.id).intent_id
    secret = client_secret(Keyring(SECRET_KEY).current, intent_id, 0)
    api = organizer.with_headers({"Authorization": f"Bearer {secret}"})
    intent = api.get(f"{organizer.checkout}/intents/{intent_id}").json
    return Buyer(organizer, {**intent, "client_secret": secret})


def stock(ticket: dict[str, Any]) -> tuple[int, int, int]:
    """Return how many seats of a ticket type are held, sold and waited for."""
    now = TicketType.get_by_id(ticket["id"])
    return now.held, now.sold, now.waiting


def proof(organizer: Organizer) -> None:
    """The books must be right at any time."""
    assert reconciliation.reconcile(organizer.id) == []


def free_one(organizer: Organizer, buyer: Buyer) -> None:
    """A seat becomes free: its organizer takes it back."""
    (seat,) = admissions_of(buyer)
    assert void(organizer, seat).status_code == 200


def mails(kind: str) -> list[str]:
    """Return what the mails of a kind are about, the oldest first."""
    return [mail.subject for mail in Mail.select().where(Mail.kind == kind).order_by(Mail.id)]
