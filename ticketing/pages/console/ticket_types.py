"""The console's pages of the ticket types of an event."""

from collections.abc import Mapping, Sequence
from functools import partial

from flask import request
from werkzeug import Response

from schemas.events import StatusSchema
from schemas.forms import TicketTypeChangeForm, TicketTypeForm
from schemas.ticket_types import TicketTypePlaceSchema, TicketTypeSchema
from ticketing import formats
from ticketing.constants import DEFAULT_MAX_PER_ORDER, Publication, ReturnPolicy
from ticketing.models.events import Event
from ticketing.models.ticket_types import TicketType
from ticketing.pages import forms, typed_forms
from ticketing.pages.console import obstacles, paths
from ticketing.pages.console.blueprint import ConsoleBlueprint
from ticketing.pages.console.layout import page
from ticketing.pages.console.words import PUBLICATIONS, RETURN_POLICIES
from ticketing.pages.forms import Form
from ticketing.pages.typed_forms import without_same_times
from ticketing.roles import Role
from ticketing.services import chains
from ticketing.services.catalog import events, ticket_types
from ticketing.web.audited import recorded
from ticketing.web.context import caller, config
from ticketing.web.event_scope import ONE_EVENT
from ticketing.web.idempotency import once

SECTION = "events"
_TEXTS = ("name", "description", "group_heading", "returns")
_AMOUNTS = ("price_amount", "max_price_amount", "deposit_amount")
_NUMBERS = ("chain_id", "capacity", "min_per_order", "max_per_order", "return_fee_percent")
_TIMES = ("sales_start_at", "sales_end_at")
_BOXES = (
    *("transferable", "requires_key", "free_price", "admission", "requires_ticket"),
    *("require_voucher", "hide_without_voucher", "allow_waitinglist"),
)
_OF_NEW = {
    "min_per_order": "1",
    "returns": ReturnPolicy.NONE,
    "return_fee_percent": "0",
    "deposit_amount": "0",
    "max_per_order": str(DEFAULT_MAX_PER_ORDER),
    "transferable": typed_forms.CHECKED,
    "admission": typed_forms.CHECKED,
}

blp = ConsoleBlueprint(
    "ticket_types", __name__, reads={Role.READ, Role.FINANCE}, writes={Role.WRITE}, scope=ONE_EVENT
)
form_blp = ConsoleBlueprint(
    "ticket_type_forms", __name__, reads={Role.WRITE}, writes={Role.WRITE}, scope=ONE_EVENT
)


@blp.get(paths.ticket_type("<event_id>", "<ticket_id>"))
def show_ticket_type(event_id: str, ticket_id: str) -> str:
    """Show one ticket type, with what keeps people from buying it."""
    return _page(event_id, ticket_id, Form())


@blp.post(paths.ticket_type("<event_id>", "<ticket_id>", "status"))
def set_status(event_id: str, ticket_id: str) -> Response:
    """Publish a ticket type, take it back to draft, or cancel it."""

    def change() -> str:
        wanted = typed_forms.read(StatusSchema)["status"]
        tenant = caller().tenant
        recorded(
            TicketTypeSchema,
            partial(ticket_types.set_status, tenant, event_id, ticket_id, wanted, config()),
            partial(ticket_types.get, tenant.id, event_id, ticket_id),
            action="ticket_types_set_ticket_type_status",
        )
        return f"{paths.ticket_type(event_id, ticket_id)}#changed"

    return forms.carried_out(change, partial(_page, event_id, ticket_id))


@blp.post(paths.ticket_type("<event_id>", "<ticket_id>", "move"))
def move_ticket_type(event_id: str, ticket_id: str) -> Response:
    """Show a ticket type at another place of the list, and go back to the list."""

    def move() -> str:
        place = typed_forms.read(TicketTypePlaceSchema)["place"]
        tenant = caller().tenant
        recorded(
            TicketTypeSchema,
            partial(ticket_types.move, tenant, event_id, ticket_id, place, config()),
            partial(ticket_types.get, tenant.id, event_id, ticket_id),
            action="ticket_types_change_ticket_type",
        )
        return f"{paths.event(event_id)}#{ticket_id}"

    return forms.carried_out(move, partial(_page, event_id, ticket_id))


@form_blp.get(paths.ticket_type("<event_id>", "<ticket_id>", "cancel"))
def ask_to_cancel(event_id: str, ticket_id: str) -> str:
    """Show what the cancelation of a ticket type means."""
    return page("ticket_type_cancel.html", SECTION, ticket_type=_read(event_id, ticket_id))


@form_blp.get(paths.new_ticket_type("<event_id>"))
def new_ticket_type(event_id: str) -> str:
    """Show the form for a new ticket type. If one chain is enabled, it is chosen already."""
    event = events.get(caller().tenant_id, event_id)
    enabled = list(config().chains)
    only = {"chain_id": str(enabled[0])} if len(enabled) == 1 else {}
    return _form_page(event, None, Form(values={**_OF_NEW, **only}))


@form_blp.post(paths.new_ticket_type("<event_id>"))
def create_ticket_type(event_id: str) -> Response:
    """Create a ticket type as a draft, and go to its page."""
    event = events.get(caller().tenant_id, event_id)

    def create() -> str:
        fields = typed_forms.read(TicketTypeForm, zone=event.timezone, amounts=_AMOUNTS)
        made: TicketType = recorded(
            TicketTypeSchema,
            partial(ticket_types.create, caller().tenant, event_id, fields, config()),
            action="ticket_types_create_ticket_type",
        )
        return made.id

    return forms.carried_out(
        lambda: paths.ticket_type(event_id, once(forms.key(), create)),
        partial(_form_page, event, None),
    )


@form_blp.get(paths.ticket_type("<event_id>", "<ticket_id>", "edit"))
def edit_ticket_type(event_id: str, ticket_id: str) -> str:
    """Show the form to change a ticket type."""
    ticket_type = ticket_types.get(caller().tenant_id, event_id, ticket_id)
    return _form_page(ticket_type.event, ticket_type, Form(values=_values(ticket_type)))


@form_blp.post(paths.ticket_type("<event_id>", "<ticket_id>", "edit"))
def change_ticket_type(event_id: str, ticket_id: str) -> Response:
    """Change a ticket type, and go back to its page."""
    tenant = caller().tenant
    ticket_type = ticket_types.get(tenant.id, event_id, ticket_id)
    zone = ticket_type.event.timezone

    def change() -> str:
        sent = typed_forms.read(TicketTypeChangeForm, zone=zone, amounts=_AMOUNTS)
        fields = without_same_times(ticket_type, sent, zone)
        recorded(
            TicketTypeSchema,
            partial(ticket_types.change, tenant, event_id, ticket_id, fields, config()),
            partial(ticket_types.get, tenant.id, event_id, ticket_id),
            action="ticket_types_change_ticket_type",
        )
        return f"{paths.ticket_type(event_id, ticket_id)}#saved"

    return forms.carried_out(change, partial(_form_page, ticket_type.event, ticket_type))


def _values(ticket_type: TicketType) -> dict[str, str]:
    """Return the fields of a form that shows a ticket type."""
    zone = ticket_type.event.timezone
    texts = {name: getattr(ticket_type, name) or "" for name in _TEXTS}
    amounts = {name: getattr(ticket_type, name) for name in _AMOUNTS}
    numbers = {name: getattr(ticket_type, name) for name in _NUMBERS}
    times = {name: getattr(ticket_type, name) for name in _TIMES}
    boxes = {name: typed_forms.CHECKED if getattr(ticket_type, name) else "" for name in _BOXES}
    return {
        **texts,
        **{name: "" if n is None else formats.number(n) for name, n in amounts.items()},
        **{name: "" if number is None else str(number) for name, number in numbers.items()},
        **{name: formats.typed(at, zone) for name, at in times.items() if at is not None},
        **boxes,
    }


def _networks(ticket_type: TicketType | None) -> Mapping[int, str]:
    """Return the chains to choose from: the ticket type's own, and those that are enabled."""
    own = [] if ticket_type is None else ticket_type.chain_ids
    offered = dict.fromkeys([*own, *config().chains])
    return {chain_id: chains.name_of(chain_id, config()) for chain_id in offered}


def _also_on(ticket_type: TicketType | None) -> Sequence[str]:
    """Return the networks that are checked: those that were sent, or the ticket type's own."""
    if ticket_type is None or "also_on" in request.form:
        return typed_forms.chosen("also_on")
    return [str(chain_id) for chain_id in ticket_type.chain_ids[1:]]


def _read(event_id: str, ticket_id: str) -> TicketType:
    return ticket_types.read(caller().tenant, event_id, ticket_id, config())


def _form_page(event: Event, ticket_type: TicketType | None, form: Form) -> str:
    return page(
        "ticket_type_form.html",
        SECTION,
        event=event,
        ticket_type=ticket_type,
        networks=_networks(ticket_type),
        also_on=_also_on(ticket_type),
        return_policies=RETURN_POLICIES.items(),
        writes_mail=config().smtp is not None,
        form=form,
    )


def _page(event_id: str, ticket_id: str, form: Form) -> str:
    ticket_type = _read(event_id, ticket_id)
    return page(
        "ticket_type.html",
        SECTION,
        ticket_type=ticket_type,
        event=ticket_type.event,
        status=PUBLICATIONS[Publication(ticket_type.status)],
        networks=[chains.name_of(chain_id, config()) for chain_id in ticket_type.chain_ids],
        reasons=obstacles.of_ticket_type(ticket_type, ticket_type.event, caller().role),
        form=form,
    )
