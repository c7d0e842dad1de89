"""Join a waiting list, and the page of a place on it."""

from datetime import datetime
from typing import Any

from flask import Response, g, redirect, request
from werkzeug import Response as AnyResponse

from schemas.forms import EmptyForm, WaitingListForm
from ticketing import links, locales
from ticketing.constants import MAX_PAGE
from ticketing.errors import NotFound
from ticketing.limits import PLACE_HOURS, CallClass
from ticketing.models.ticket_types import TicketType
from ticketing.pages import answers, forms, render
from ticketing.pages.blueprint import NOT_SEARCHED, PageBlueprint
from ticketing.pages.forms import Form
from ticketing.pages.guards import PlaceLink, Visitor
from ticketing.services.catalog import public_listing
from ticketing.services.pagination import PageRequest
from ticketing.services.waiting_list import entries, offer_times, offers
from ticketing.waiting_list import MAX_QUANTITY
from ticketing.web.context import client, config, tenant_of_path

_JOIN = "/<tenant:tenant>/<slug:event>/waiting-list"
_PLACE = "/_w/<link>"

blp = PageBlueprint(
    "waiting_list",
    __name__,
    guard=Visitor(posts_as=CallClass.PREFLIGHT),
    headers=dict([NOT_SEARCHED]),
)
place_blp = PageBlueprint("places", __name__, guard=PlaceLink(), is_secret=True)


@blp.get(_JOIN)
def show_join_form(tenant: str, event: str) -> str:
    """Ask for the address of somebody who wants to wait for the ticket type of the query."""
    return _join_page(event, Form(values={"ticket_id": request.args.get("ticket_id", "")}))


@blp.post(_JOIN)
def join(tenant: str, event: str) -> AnyResponse:
    """Plan the mail that confirms a place. The answer is the same for every address."""

    def ask() -> AnyResponse:
        sent = forms.read(WaitingListForm)
        ticket_id = sent.pop("ticket_id")
        wanted = {
            "name": None,
            **sent,
            "locale": locales.chosen(request.environ["QUERY_STRING"]),
        }
        lately = entries.join(tenant_of_path(), event, ticket_id, wanted, client(), config())
        if lately is not None:
            return Response(_join_page(event, Form(values={"ticket_id": ticket_id}), lately))
        query = render.chosen_query() or "?"
        path = f"/{tenant}/{event}/waiting-list{query}&ticket_id={ticket_id}#sent"
        return redirect(path, 303)

    return forms.answered(ask, lambda form: _join_page(event, form))


def _join_page(event: str, form: Form, lately: datetime | None = None) -> str:
    everything = PageRequest(MAX_PAGE, None, config().keyring)
    listing = public_listing.get_listing(tenant_of_path(), event, everything, config()).value
    wanted = form.values.get("ticket_id", "")
    found = (each for each in listing.ticket_types.data if each.id == wanted)
    ticket_type: TicketType | None = next(found, None)
    if ticket_type is None:
        raise NotFound("This ticket type does not exist.")
    return render.page(
        "waiting_list.html",
        tenant=tenant_of_path(),
        event=listing.event,
        ticket_type=ticket_type,
        most=min(MAX_QUANTITY, ticket_type.max_per_order),
        hours=offer_times.hours(listing.event),
        writes_mail=config().smtp is not None,
        form=form,
        lately=lately,
        every=PLACE_HOURS,
    )


@place_blp.get(_PLACE)
def show_place(link: str) -> str:
    """Show a place on a waiting list, and what was offered."""
    return _place_page(Form())


@place_blp.post(_PLACE + "/confirm")
def confirm(link: str) -> AnyResponse:
    """Confirm the address: from now on, the place counts."""

    def act() -> str:
        forms.read(EmptyForm)
        entries.confirm(g.place)
        return _path()

    return forms.carried_out(act, _place_page)


@place_blp.post(_PLACE + "/leave")
def leave(link: str) -> AnyResponse:
    """Give the place up, or what was offered."""

    def act() -> str:
        forms.read(EmptyForm)
        offers.leave(g.place, config(), client())
        return _path()

    return forms.carried_out(act, _place_page)


@place_blp.post(_PLACE + "/answers")
def answer(link: str) -> AnyResponse:
    """Answer what the organizer asks about what was offered."""

    def act() -> str:
        forms.read(EmptyForm, besides=(answers.PREFIX,))
        asked = entries.questions_of(entries.find(g.place))
        entries.answer(g.place, answers.read(asked))
        return _path()

    return forms.carried_out(act, _place_page)


def _path() -> str:
    return links.place(g.place, config().keyring) + render.chosen_query()


def _place_page(form: Form) -> str:
    entry = entries.find(g.place)
    order: dict[str, Any] = {}
    if entry.intent_id is not None:
        # The first link. If the organizer ended it, its page says so.
        order = {"order_path": links.order(entry.intent_id, 0, config().keyring)}
    return render.page(
        "place.html",
        tenant=entry.tenant,
        event=entry.event,
        entry=entry,
        ticket_type=entry.ticket_type,
        path=links.place(entry.id, config().keyring),
        questions=entries.questions_of(entry),
        spoken=entry.locale,
        form=form,
        **order,
    )
