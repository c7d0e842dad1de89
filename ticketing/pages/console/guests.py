"""The console's guest list: tickets that cost nothing, for people whom the organizer invites."""

import csv
from collections.abc import Mapping, Sequence
from typing import Any

from flask import Response
from werkzeug import Response as AnyResponse

from schemas.admissions import AdmissionSchema, GuestListSchema
from schemas.forms import GuestsForm
from ticketing import links
from ticketing.constants import MAX_GUESTS
from ticketing.errors import FieldMessage, Invalid
from ticketing.pages import forms
from ticketing.pages.console import list_filters, one_time, words
from ticketing.pages.console.blueprint import ConsoleBlueprint
from ticketing.pages.console.layout import page
from ticketing.pages.console.one_time import Answer, Secret
from ticketing.pages.forms import Form
from ticketing.roles import Role
from ticketing.services.catalog import events, ticket_types
from ticketing.services.orders import admissions, guest_list
from ticketing.web import origin
from ticketing.web.audited import recorded
from ticketing.web.context import caller, config
from ticketing.web.event_scope import ONE_EVENT

_PATH = "/console/events/<event_id>/guests"
_HEADINGS = frozenset({"name", "email", "e-mail", "email address", "mail"})
"""What the first line of a CSV file may have."""

_TOO_MANY = FieldMessage("too_many_guests", f"At most {MAX_GUESTS} guests at once.", max=MAX_GUESTS)

blp = ConsoleBlueprint("guests", __name__, reads={Role.WRITE}, writes={Role.WRITE}, scope=ONE_EVENT)


@blp.get(_PATH)
def show_guest_form(event_id: str) -> str:
    """Show the form that adds guests to an event."""
    return _page(event_id, Form())


@blp.post(_PATH)
def add_guests(event_id: str) -> AnyResponse:
    """Issue a ticket to each guest, all or none, and show their links once."""
    tenant_id = caller().tenant_id

    def add() -> AnyResponse:
        sent = forms.read(GuestsForm)
        holders = _holders(sent["guests"])
        if "check" in sent:
            return Response(_page(event_id, Form(values=forms.sent()), holders))

        def issue() -> Mapping[str, Sequence[Any]]:
            guests = guest_list.add(tenant_id, event_id, sent["ticket_id"], holders)
            return {"admissions": guests}

        made = one_time.made_once(
            lambda: recorded(
                AdmissionSchema,
                issue,
                action="admissions_add_guests",
                details={"reason": sent.get("reason")},
                each="admissions",
            )
        )
        text = "Each link is a ticket: everybody who has it can use it. Send it to its guest."
        if config().smtp is not None:
            text = f"Guests with an address get theirs by mail. {text}"
        back = f"/console/attendees?event_id={event_id}"
        secrets = None if made is None else [_secret(guest) for guest in made["admissions"]]
        return one_time.answer("events", Answer("Guests added", text, back, secrets))

    return forms.answered(add, lambda form: _page(event_id, form))


def _holders(text: str) -> list[dict[str, str]]:
    """Return the guests of the lines of a text or of a CSV file. Invalid, with the wrong lines.

    Each line is a name, an address, or both. A first line that names the columns is left out.
    """
    holders, wrong = [], {}
    for number, line in enumerate(text.splitlines(), 1):
        parts = _columns(line)
        if not parts or (number == 1 and {part.lower() for part in parts} <= _HEADINGS):
            continue
        email = next((part for part in parts if "@" in part), "")
        names = [part for part in parts if part != email]
        holder = {"name": names[0] if names else "", "email": email}
        holder = {name: value for name, value in holder.items() if value}
        # A second text is no address, and would be lost.
        if len(names) > 1 or GuestListSchema().validate({"holders": [holder]}):
            wrong[number] = line
        holders.append(holder)
        if len(holders) > MAX_GUESTS:
            raise Invalid({"guests": [_TOO_MANY]})
    if wrong or not holders:
        places = ", ".join(map(str, wrong)) or "1"
        said = f"These lines have a wrong name or email address: {places}."
        raise Invalid({"guests": [FieldMessage("guests", said, places=places)]})
    return holders


def _columns(line: str) -> list[str]:
    """Return what a line of CSV (RFC 4180) has between tabs, else semicolons, else commas.

    Example: `"Lovelace, Ada", ada@example.org` are `Lovelace, Ada` and `ada@example.org`.
    """
    separator = next((each for each in "\t;" if each in line), ",")
    (columns,) = csv.reader([line.strip()], delimiter=separator, skipinitialspace=True)
    return [column.strip() for column in columns if column.strip()]


def _secret(guest: Any) -> Secret:
    whose = guest.holder_name or guest.holder_email or guest.id
    return Secret("Link of the ticket", origin.origin() + links.ticket(guest.code), whose)


def _page(event_id: str, form: Form, checked: Sequence[Mapping[str, str]] | None = None) -> str:
    tenant_id = caller().tenant_id
    event = events.get(tenant_id, event_id)
    found = admissions.guests(tenant_id, event_id, list_filters.page_request())
    return page(
        "guests.html",
        "events",
        event=event,
        form=form,
        options=[(each.id, each.name) for each in ticket_types.names(event_id)],
        most=MAX_GUESTS,
        checked=checked,
        guests=found.data,
        next_page=list_filters.next_page(found, {}),
        writes_mail=config().smtp is not None,
        words=words,
    )
