"""The console's forms of events: create one with its first ticket type, change it, cancel it."""

from functools import partial
from typing import Any

from flask import Response, redirect, request
from werkzeug import Response as AnyResponse

from schemas.events import (
    EventChangeSchema,
    EventSchema,
    EventStatusChangeSchema,
    timezones,
)
from schemas.forms import NewEventForm
from schemas.ticket_types import TicketTypeCreateSchema, TicketTypeSchema
from ticketing import formats, locales
from ticketing.constants import MAX_TICKET_CHAINS, Publication
from ticketing.locales import N_
from ticketing.models.events import Event
from ticketing.pages import forms, typed_forms
from ticketing.pages.console import paths
from ticketing.pages.console.blueprint import ConsoleBlueprint
from ticketing.pages.console.layout import page
from ticketing.pages.console.words import DEPOSIT_RELEASES, EVENT_TYPES, VISIBILITIES
from ticketing.pages.forms import Form
from ticketing.pages.typed_forms import without_same_times
from ticketing.roles import Role
from ticketing.services.access import audit_log
from ticketing.services.catalog import events, ticket_types
from ticketing.services.mail import recipients
from ticketing.services.mail.planning import MOVES
from ticketing.services.pagination import PageRequest
from ticketing.services.payments import event_voids
from ticketing.services.wallets import issuing
from ticketing.web.audited import recorded
from ticketing.web.context import caller, config
from ticketing.web.event_scope import ONE_EVENT
from ticketing.web.idempotency import once

SECTION = "events"
_TIMES = ("start_at", "end_at", "doors_open_at", "transfers_end_at")
_TEXTS = (
    "title",
    "slug",
    "description",
    "type",
    "venue",
    "timezone",
    "online_join_url",
    "visibility",
    "series",
    "locale",
    "deposits_release",
)

_PREVIEW = "preview"
"""The button that shows the description as its page will, and saves nothing."""

blp = ConsoleBlueprint(
    "event_forms", __name__, reads={Role.WRITE}, writes={Role.WRITE}, scope=ONE_EVENT
)


@blp.get(paths.NEW_EVENT)
def new_event() -> str:
    """Show the form for a new event. Its time zone is that of the newest event."""
    newest = PageRequest(1, None, config().keyring)
    found = events.list_page(
        caller().tenant, newest, config(), status=None, type=None, q=None, sort="-created_at"
    )
    zones = [event.timezone for event in found.data]
    return _new_page(Form(values={"timezone": zones[0]} if zones else {}))


@blp.post(paths.NEW_EVENT)
def create_event() -> AnyResponse:
    """Create an event as a draft, and go to its page."""

    if _PREVIEW in request.form:
        return Response(_new_page(Form(values=forms.sent())))

    def create() -> str:
        fields = typed_forms.read(NewEventForm, zone=_zone(), amounts=("ticket_price",))
        ticket = fields.pop("ticket")
        with audit_log.changes(caller().tenant_id):
            made: Event = recorded(
                EventSchema,
                partial(events.create, caller().tenant, fields, config()),
                action="events_create_event",
            )
            if ticket is not None:
                _create_ticket_type(made.id, ticket)
        return made.id

    return forms.carried_out(lambda: paths.event(once(forms.key(), create)), _new_page)


def _create_ticket_type(event_id: str, sent: dict[str, Any]) -> None:
    """Create the first ticket type of an event, on all networks that the wallet takes."""
    wallet = issuing.current(caller().tenant)
    taken = [each for each in config().chains if wallet is None or wallet.takes(each)]
    chain_ids = taken[:MAX_TICKET_CHAINS] if sent["price_amount"] else []
    fields = TicketTypeCreateSchema().load({**sent, "chain_ids": chain_ids})
    recorded(
        TicketTypeSchema,
        partial(ticket_types.create, caller().tenant, event_id, fields, config()),
        action="ticket_types_create_ticket_type",
    )


@blp.get(paths.event("<event_id>", "edit"))
def edit_event(event_id: str) -> str:
    """Show the form to change an event."""
    event = events.get(caller().tenant_id, event_id)
    return _edit_page(event, Form(values=_values(event)))


@blp.post(paths.event("<event_id>", "edit"))
def change_event(event_id: str) -> AnyResponse:
    """Change an event, and go back to its page."""
    event = events.get(caller().tenant_id, event_id)

    if _PREVIEW in request.form:
        return Response(_edit_page(event, Form(values=forms.sent())))

    def change() -> AnyResponse:
        zone = _zone()
        sent = typed_forms.read(EventChangeSchema, zone=zone)
        how: dict[str, Any] = {
            name: sent.pop(name) for name in ("force", "tell_people") if name in sent
        }
        fields = without_same_times(event, sent, zone)
        if "tell_people" not in how and (told := _to_tell(event, fields)):
            return Response(_edit_page(event, Form(values=forms.sent()), told=told))
        recorded(
            EventSchema,
            partial(events.change, caller().tenant, event_id, fields, config(), **how),
            partial(events.get, caller().tenant_id, event_id),
            action="events_change_event",
            details=how,
        )
        return redirect(f"{paths.event(event_id)}#saved", 303)

    return forms.answered(change, partial(_edit_page, event))


def _to_tell(event: Event, fields: dict[str, Any]) -> int:
    """Return how many people would get a mail about the new time or place of an event."""
    moved = {name for name in MOVES if name in fields and fields[name] != getattr(event, name)}
    if not moved or event.status != Publication.PUBLISHED or config().smtp is None:
        return 0
    return recipients.count(recipients.of_moved_event(event.id))


@blp.get(paths.event("<event_id>", "cancel"))
def ask_to_cancel(event_id: str) -> str:
    """Show what a cancelation means."""
    return _cancel_page(event_id, Form())


@blp.post(paths.event("<event_id>", "cancel"))
def cancel_event(event_id: str) -> AnyResponse:
    """Cancel an event, with or without refunds."""

    def cancel() -> str:
        refund = typed_forms.read(EventStatusChangeSchema).get("refund", True)
        change = partial(
            events.change_status, caller().tenant, event_id, Publication.CANCELED, config()
        )
        recorded(
            EventSchema,
            partial(change, refund=refund),
            partial(events.get, caller().tenant_id, event_id),
            action="events_set_event_status",
            details={"refund": refund},
        )
        return f"{paths.event(event_id)}#canceled"

    return forms.carried_out(cancel, partial(_cancel_page, event_id))


def _zone() -> str:
    """Return the time zone that was filled in. UTC if there is none of this name."""
    zone = forms.sent().get("timezone", "")
    return zone if zone in timezones() else "UTC"


def _values(event: Event) -> dict[str, str]:
    """Return the fields of a form that shows an event."""
    texts = {name: getattr(event, name) or "" for name in _TEXTS}
    times = {
        name: formats.typed(at, event.timezone)
        for name in _TIMES
        if (at := getattr(event, name)) is not None
    }
    numbers = {
        name: "" if getattr(event, name) is None else str(getattr(event, name))
        for name in ("capacity", "reminder_hours", "waiting_list_hours")
    }
    carts = typed_forms.CHECKED if event.carts else ""
    return {**texts, **times, **numbers, "carts": carts}


def _new_page(form: Form) -> str:
    return _form_page(form, event=None, is_draft=False, told=0)


def _edit_page(event: Event, form: Form, told: int = 0) -> str:
    is_draft = event.status == Publication.DRAFT
    return _form_page(form, event=event, is_draft=is_draft, told=told)


def _form_page(form: Form, **values: Any) -> str:
    return page(
        "event_form.html",
        SECTION,
        form=form,
        types=list(EVENT_TYPES.items()),
        visibilities=list(VISIBILITIES.items()),
        languages=[("", N_("As in the settings")), *locales.LOCALES.items()],
        deposit_releases=list(DEPOSIT_RELEASES.items()),
        zones=sorted(name for name in timezones() if "/" in name and not name.startswith("Etc/")),
        **values,
    )


def _cancel_page(event_id: str, form: Form) -> str:
    event = events.read(caller().tenant, event_id, config())
    return page(
        "event_cancel.html",
        SECTION,
        event=event,
        outlook=event_voids.outlook(event_id),
        form=form,
    )
