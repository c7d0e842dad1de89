"""The page of an event, and its order form."""

from typing import Any

from flask import Response, redirect, request
from werkzeug import Response as AnyResponse

from schemas.forms import OrderForm
from ticketing import links
from ticketing.constants import MAX_CODE_TYPED, MAX_PAGE
from ticketing.errors import NotFound, SoldOut, TicketingError, TooManyGuesses, VoucherInvalid
from ticketing.limits import CallClass
from ticketing.models.tenants import Tenant
from ticketing.models.vouchers import Voucher
from ticketing.pages import forms, json_ld, render
from ticketing.pages.blueprint import HEADERS, PageBlueprint
from ticketing.pages.forms import Form
from ticketing.pages.guards import Visitor
from ticketing.pages.reasons import Sentence, reason
from ticketing.services import chains, checkout
from ticketing.services.catalog import public_listing
from ticketing.services.catalog import vouchers as all_vouchers
from ticketing.services.catalog.public_listing import Listing
from ticketing.services.checkout import Order
from ticketing.services.orders import vouchers
from ticketing.services.orders.lines import Wanted
from ticketing.services.pagination import PageRequest
from ticketing.web import guesses, origin, response_cache
from ticketing.web.context import client, config, tenant_of_path
from ticketing.web.idempotency import form_digests, once, was_sent

blp = PageBlueprint("events", __name__, guard=Visitor(posts_as=CallClass.PREFLIGHT))

# Each visitor gets a form key of their own, so the page is for one reader.
_CACHE = (("Cache-Control", "private, no-cache"),)


@blp.get("/<tenant:tenant>/<slug:event>")
def show_event(tenant: str, event: str) -> Response:
    """Show a published event with its order form, or say that it was canceled.

    A voucher's code in the query shows its prices, and the ticket types that it opens.
    """
    code = request.args.get(response_cache.CODE, "").strip()
    try:
        if code:
            return _with_code(tenant_of_path(), event, code)
        found = public_listing.get_listing(tenant_of_path(), event, _all(), config())
    except NotFound:
        return _canceled(tenant_of_path(), event)
    page = _page(tenant_of_path(), found.value, Form(key=response_cache.FORM_KEY))
    return response_cache.page(found.version, page, HEADERS + _CACHE, tenant)


@blp.post("/<tenant:tenant>/<slug:event>/order")
def order(tenant: str, event: str) -> AnyResponse:
    """Order tickets, and go to the page of the order. If that fails, show the form again.

    If the tickets are sold out or the event is canceled, go to the event's page: the form has
    nothing that could be changed, and that page costs little.
    """
    try:
        wanted = _wanted(event, forms.read(OrderForm))
        if _may_order(tenant, wanted):
            return redirect(links.order(_once(tenant, wanted), config().keyring), 303)
    except NotFound:
        public_listing.get_canceled_event(tenant_of_path(), event)
        return redirect(f"/{tenant}/{event}", 303)
    except SoldOut as error:
        if not checkout.is_sold_out(tenant, wanted):
            return _refused(tenant_of_path(), event, error)
    except TicketingError as error:
        return _refused(tenant_of_path(), event, error)
    return redirect(f"/{tenant}/{event}#sold-out", 303)


def _may_order(tenant: str, wanted: Order) -> bool:
    """Return whether to try it: some are left, or the form was sent before."""
    is_sold_out = checkout.is_sold_out(tenant, wanted)
    return not is_sold_out or was_sent(forms.key()) or checkout.replaces_order(wanted)


def _with_code(tenant: Tenant, event: str, code: str) -> Response:
    """Show the event with a code applied, or say at its field that it is wrong. NotFound."""
    values = {response_cache.CODE: code[:MAX_CODE_TYPED]}
    try:
        with guesses.counted(code):
            voucher = vouchers.find(tenant.id, event, code)
    except (VoucherInvalid, TooManyGuesses) as error:
        listing = public_listing.get_listing(tenant, event, _all(), config()).value
        form = Form(values=values, errors={response_cache.CODE: Sentence(reason(error), {})})
        response = forms.shown_again(_page(tenant, listing, form), error)
    else:
        listing = public_listing.get_listing(tenant, event, _all(), config(), voucher).value
        response = Response(_page(tenant, listing, Form(values=values), voucher))
    response.headers.update(response_cache.OF_CODE)
    return response


def _once(tenant: str, wanted: Order) -> str:
    return once(forms.key(), lambda: checkout.preflight(tenant, wanted, config()).id)


def _wanted(event: str, form: dict[str, Any]) -> Order:
    return Order(
        event_id=event,
        wanted=(Wanted(form["ticket_id"], form["quantity"]),),
        client=client(),
        form=form_digests(forms.key()),
        buyer_email=form.get("email"),
        buyer_name=form.get("name"),
    )


def _canceled(tenant: Tenant, slug: str) -> Response:
    found = public_listing.get_canceled_event(tenant, slug)
    page = render.page(
        "event_canceled.html",
        tenant=tenant,
        event=found.value,
        json_ld=json_ld.event(found.value, [], tenant, origin.origin()),
    )
    return response_cache.page(found.version, page, HEADERS + _CACHE, tenant.slug)


def _refused(tenant: Tenant, event: str, error: TicketingError) -> Response:
    """Show the form again, as it was filled in, with what is wrong."""
    listing = public_listing.get_listing(tenant, event, _all(), config()).value
    return forms.shown_again(_page(tenant, listing, forms.refused(error)), error)


def _page(tenant: Tenant, listing: Listing, form: Form, voucher: Voucher | None = None) -> str:
    event, ticket_types = listing.event, listing.ticket_types.data
    # What others may not know is not for search engines either.
    public = [each for each in ticket_types if vouchers.is_shown(each, None)]
    settings = config()
    return render.page(
        "event.html",
        tenant=tenant,
        event=event,
        is_over=listing.is_over,
        ticket_types=ticket_types,
        networks={each.id: chains.name_of(each.chain_id, settings) for each in ticket_types},
        json_ld=json_ld.event(event, public, tenant, origin.origin()),
        hold_minutes=int(settings.hold.total_seconds()) // 60,
        writes_mail=settings.smtp is not None,
        has_vouchers=all_vouchers.exist(event.id),
        voucher=voucher,
        form=form,
    )


def _all() -> PageRequest:
    return PageRequest(MAX_PAGE, None, config().keyring)
