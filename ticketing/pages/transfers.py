"""The page that accepts a transfer. Its link is the offer."""

from flask import Response, redirect
from werkzeug import Response as AnyResponse

from schemas.forms import HolderForm
from ticketing import links
from ticketing.errors import NotFound, OfferEnded, TicketingError
from ticketing.pages import forms, render
from ticketing.pages.blueprint import PageBlueprint
from ticketing.pages.forms import Form
from ticketing.pages.guards import OfferLink
from ticketing.services.orders import holders, transfers
from ticketing.services.orders.holders import Holder
from ticketing.web.context import config
from ticketing.web.idempotency import once

blp = PageBlueprint("transfers", __name__, guard=OfferLink(), is_secret=True)


@blp.get("/x/<offer>")
def show_offer(offer: str) -> Response:
    """Show what is offered, and what accepting it means."""
    return _page_or_ending(offer, Form())


@blp.post("/x/<offer>")
def accept_offer(offer: str) -> AnyResponse:
    """Accept the ticket, and go to its new page. The same form again goes there too."""
    try:
        holder = forms.read(HolderForm)
        accepted = once(forms.key(), lambda: _accept(offer, holder))
        return redirect(links.ticket(_code_of(accepted)), 303)
    except NotFound:
        raise
    except TicketingError as error:
        return _page_or_ending(offer, forms.refused(error))


def _accept(offer: str, holder: Holder) -> str:
    """Return which generation of which admission this acceptance has made. It is no secret."""
    keyring = config().keyring
    tenant = transfers.find(offer, keyring).admission.tenant
    admission = transfers.accept(tenant, offer, holder, keyring)
    return f"{tenant.id} {admission.id} {admission.generation}"


def _code_of(accepted: str) -> str:
    """Return the code of an accepted admission. OfferEnded if it has changed hands since."""
    tenant_id, admission_id, generation = accepted.split()
    admission = holders.get(tenant_id, admission_id, None)
    if admission.generation != int(generation):
        raise OfferEnded
    return admission.code


def _page_or_ending(offer: str, form: Form) -> Response:
    """Return the page of an offer, or why it cannot be accepted, with the status of that."""
    settings = config()
    try:
        transfer = transfers.find(offer, settings.keyring)
    except NotFound:
        raise
    except TicketingError as error:
        return forms.shown_again(render.page("transfer_ended.html", refusal=error), error)
    admission = transfer.admission
    page = render.page(
        "transfer.html",
        tenant=admission.tenant,
        admission=admission,
        event=admission.event,
        path=links.transfer(offer),
        until=transfer.expires_at,
        deposit=admission.deposit,
        form=form,
        writes_mail=settings.smtp is not None,
    )
    return Response(page) if form.refusal is None else forms.shown_again(page, form.refusal)
