"""The console's guest list: tickets that cost nothing, for people whom the organizer invites."""

from collections.abc import Mapping, Sequence
from typing import Any

from werkzeug import Response

from schemas.admissions import AdmissionSchema, GuestListSchema
from schemas.forms import GuestsForm
from ticketing import links
from ticketing.constants import MAX_GUESTS, Role
from ticketing.errors import FieldMessage, Invalid
from ticketing.pages import forms
from ticketing.pages.console import one_time
from ticketing.pages.console.blueprint import ConsoleBlueprint
from ticketing.pages.console.layout import page
from ticketing.pages.console.one_time import Answer, Secret
from ticketing.pages.forms import Form
from ticketing.services.catalog import events, ticket_types
from ticketing.services.orders import guest_list
from ticketing.web import origin
from ticketing.web.audited import recorded
from ticketing.web.context import caller

_PATH = "/console/events/<event_id>/guests"
_TOO_MANY = FieldMessage("too_many_guests", f"At most {MAX_GUESTS} guests at once.", max=MAX_GUESTS)

blp = ConsoleBlueprint("guests", __name__, reads=Role.WRITE, writes=Role.WRITE)


@blp.get(_PATH)
def show_guest_form(event_id: str) -> str:
    """Show the form that adds guests to an event."""
    return _page(event_id, Form())


@blp.post(_PATH)
def add_guests(event_id: str) -> Response:
    """Issue a ticket to each guest, all or none, and show their links once."""
    tenant_id = caller().tenant_id

    def add() -> Response:
        sent = forms.read(GuestsForm)
        holders = _holders(sent["guests"])

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
        text = "Send each link to its guest: it is the ticket, and everybody who has it can use it."
        back = f"/console/attendees?event_id={event_id}"
        secrets = None if made is None else [_secret(guest) for guest in made["admissions"]]
        return one_time.answer("events", Answer("Guests added", text, back, secrets))

    return forms.answered(add, lambda form: _page(event_id, form))


def _holders(lines: str) -> list[dict[str, str]]:
    """Return the guests of lines such as `Ada Lovelace, ada@example.org`. Invalid."""
    holders = []
    for number, line in enumerate((each for each in lines.splitlines() if each.strip()), 1):
        name, _, email = (part.strip() for part in line.rpartition(","))
        if "@" not in email:
            name, email = line.strip(), ""
        holders.append({key: text for key, text in (("name", name), ("email", email)) if text})
        if number > MAX_GUESTS:
            raise Invalid({"guests": [_TOO_MANY]})
    wrong: dict[str, Any] = GuestListSchema().validate({"holders": holders})
    if wrong:
        places = ", ".join(str(place + 1) for place in wrong["holders"])
        text = f"These guests have a wrong name or email address: {places}."
        raise Invalid({"guests": [FieldMessage("guests", text, places=places)]})
    return holders


def _secret(guest: Any) -> Secret:
    whose = guest.holder_name or guest.holder_email or guest.id
    return Secret("Link of the ticket", origin.origin() + links.ticket(guest.code), whose)


def _page(event_id: str, form: Form) -> str:
    event = events.get(caller().tenant_id, event_id)
    return page(
        "guests.html",
        "events",
        event=event,
        form=form,
        options=[(each.id, each.name) for each in ticket_types.names(event_id)],
        most=MAX_GUESTS,
    )
