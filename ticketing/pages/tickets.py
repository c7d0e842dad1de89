"""The page of a ticket: its QR code, its holder, how to pass it on and how to give it back."""

from collections.abc import Callable

from flask import g
from werkzeug import Response as AnyResponse

from schemas.forms import EmptyForm, HolderForm
from ticketing import links
from ticketing.constants import Publication
from ticketing.models.admissions import Admission
from ticketing.pages import answers as answer_fields
from ticketing.pages import forms, qr, render
from ticketing.pages.blueprint import PageBlueprint
from ticketing.pages.forms import Form
from ticketing.pages.guards import TicketLink
from ticketing.services import admission_views
from ticketing.services.orders import answers, finality, holders, returns, transfers
from ticketing.services.orders.holders import Holder
from ticketing.services.orders.returns import Terms
from ticketing.web import origin
from ticketing.web.context import config
from ticketing.web.idempotency import once

_PASS_ON = "#pass-on"
_ANSWERED = "#answered"
_GIVE_BACK = "#give-back"

blp = PageBlueprint("tickets", __name__, guard=TicketLink(), is_secret=True)


@blp.get("/t/<code>")
def show_ticket(code: str) -> str:
    """Show a ticket to everybody who has its link."""
    return _page(g.admission)


@blp.post("/t/<code>/holder")
def name_holder(code: str) -> AnyResponse:
    """Write another name and email address on the ticket. An empty field removes it."""
    found: Admission = g.admission

    def name() -> None:
        holders.name(found.tenant_id, found.id, code, _holder())

    return _carried_out(code, name, links.ticket(code), form="naming")


@blp.post("/t/<code>/answers")
def answer(code: str) -> AnyResponse:
    """Save the answers to what the organizer asks the holder."""
    found: Admission = g.admission

    def save() -> None:
        asked = answers.add_to(found).questions
        answers.change_by_holder(found.tenant_id, found.id, code, answer_fields.read(asked))

    return _carried_out(code, save, links.ticket(code) + _ANSWERED, form="answering")


@blp.post("/t/<code>/offer")
def offer_ticket(code: str) -> AnyResponse:
    """Offer the ticket to somebody else. The page then shows the link of the offer."""
    found: Admission = g.admission

    def offer() -> None:
        to = _holder()
        once(
            forms.key(),
            lambda: transfers.offer(found.tenant_id, found.id, code, to, config()).id,
        )

    return _carried_out(code, offer, links.ticket(code) + _PASS_ON, form="passing_on")


@blp.post("/t/<code>/offer/cancel")
def take_offer_back(code: str) -> AnyResponse:
    """End the offer, so that its link no longer works."""
    found: Admission = g.admission

    def cancel() -> None:
        forms.read(EmptyForm)
        transfers.cancel(found.tenant_id, found.id, code)

    return _carried_out(code, cancel, links.ticket(code) + _PASS_ON, form="passing_on")


@blp.post("/t/<code>/return")
def give_back(code: str) -> AnyResponse:
    """Give the ticket back, on the terms that the page showed."""
    found: Admission = g.admission

    def give() -> None:
        forms.read(EmptyForm)
        returns.offer(found.tenant_id, found.id, code)

    return _carried_out(code, give, links.ticket(code) + _GIVE_BACK, form="giving_back")


@blp.post("/t/<code>/return/cancel")
def keep_ticket(code: str) -> AnyResponse:
    """Keep the ticket after all, unless somebody is paying for its place."""
    found: Admission = g.admission

    def keep() -> None:
        forms.read(EmptyForm)
        returns.cancel(found.tenant_id, found.id, code)

    return _carried_out(code, keep, links.ticket(code) + _GIVE_BACK, form="giving_back")


def _holder() -> Holder:
    sent = forms.read(HolderForm)
    return {"name": sent.get("name"), "email": sent.get("email")}


def _carried_out(code: str, act: Callable[[], None], then: str, *, form: str) -> AnyResponse:
    """Do it, and go to `then`. If it is refused, show the page with the form that was sent."""

    def do() -> str:
        act()
        return then

    # Read the admission again: another request may have changed it.
    return forms.carried_out(do, lambda sent: _page(holders.find(code), **{form: sent}))


def _page(
    of: Admission,
    naming: Form | None = None,
    passing_on: Form | None = None,
    answering: Form | None = None,
    giving_back: Form | None = None,
) -> str:
    settings = config()
    admission = admission_views.for_holder(of, settings.keyring, shows_code=True)
    is_canceled = admission.event.status == Publication.CANCELED
    text = None if is_canceled else admission.shown_qr
    order = None if admission.is_final else admission.intent
    terms = returns.terms(admission)
    return render.page(
        "ticket.html",
        tenant=admission.tenant,
        admission=admission,
        intent=admission.intent,
        event=admission.event,
        path=links.ticket(admission.code),
        qr=text and qr.svg(text),
        offer_url=_offer_url(admission),
        obstacle=transfers.obstacle(admission),
        early_order=order,
        minutes_to_final=order and finality.minutes_left(order),
        naming_obstacle=holders.naming_obstacle(admission),
        naming=naming or Form(),
        passing_on=passing_on or Form(),
        answering=answering
        or Form(values=answer_fields.typed(admission.questions, admission.answers)),
        giving_back=giving_back or Form(),
        deposit=admission.deposit,
        terms=terms if isinstance(terms, Terms) else None,
        unpaid_until=returns.unpaid_until(admission) if admission.returned_at else None,
        answers_obstacle=answers.obstacle(admission),
        lacks_answers=answers.missing(admission),
        writes_mail=settings.smtp is not None,
    )


def _offer_url(admission: Admission) -> str | None:
    """Return the link of the open offer, in full. None if there is no offer."""
    if admission.transfer is None:
        return None
    offer = transfers.offer_again(admission.transfer.id, config())
    return None if offer is None else origin.origin() + links.transfer(offer.offer)
