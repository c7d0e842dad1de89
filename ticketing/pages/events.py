"""The page of an event, and its order form."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from flask import Response, redirect, request
from werkzeug import Response as AnyResponse

from schemas.forms import OrderForm
from ticketing import formats, links, locales
from ticketing.constants import MAX_CODE_TYPED, MAX_PAGE
from ticketing.errors import (
    NotFound,
    SoldOut,
    TicketingError,
    TooManyGuesses,
    VoucherHeld,
    VoucherInvalid,
    VoucherNotApplicable,
)
from ticketing.limits import CallClass
from ticketing.locales import N_
from ticketing.models.events import Event
from ticketing.models.tenants import Tenant
from ticketing.models.vouchers import Voucher
from ticketing.pages import answers, cart, forms, json_ld, render
from ticketing.pages.blueprint import HEADERS, NOT_SEARCHED, PageBlueprint
from ticketing.pages.event_pages import is_before, render_event, render_series, render_waiting_room
from ticketing.pages.forms import Form
from ticketing.pages.guards import Visitor
from ticketing.pages.reasons import Sentence, reason
from ticketing.services import checkout
from ticketing.services.catalog import public_listing
from ticketing.services.catalog.public_listing import Listing
from ticketing.services.channels import Person
from ticketing.services.order_requests import Order
from ticketing.services.orders import holds, vouchers
from ticketing.services.orders.lines import Wanted
from ticketing.services.pagination import PageRequest
from ticketing.web import guesses, origin, response_cache, waiting_room
from ticketing.web.context import address, client, config, tenant_of_path
from ticketing.web.idempotency import form_digests, once, was_sent
from ticketing.web.waiting_room import Waits

blp = PageBlueprint("events", __name__, guard=Visitor(posts_as=CallClass.PREFLIGHT))

# Each visitor gets a form key of their own, so the page is for one reader.
_CACHE = (("Cache-Control", "private, no-cache"),)

_BESIDES = (answers.PREFIX, cart.QUANTITY, cart.PRICE)
"""Fields of the order form that the form's schema does not know."""


@blp.get("/<tenant:tenant>/<slug:event>")
def show_event(tenant: str, event: str) -> Response:
    """Show a published event with its order form, or say that it was canceled; or a series.

    A voucher's code in the query shows its prices, and the ticket types that it opens. If others
    came first, show the place of this person in the waiting room.
    """
    if (waits := waiting_room.waits(request.environ)) is not None:
        return _waiting(event, waits)
    code = request.args.get(response_cache.CODE, "").strip()
    try:
        if code:
            asked = public_listing.find_event(tenant_of_path(), event)
            return _place_of(asked) or _with_code(tenant_of_path(), event, code)
        found = public_listing.get_listing(tenant_of_path(), event, _all(), config())
    except NotFound:
        return _canceled_or_series(tenant_of_path(), event)
    listing = found.value
    if (answer := _place_of(listing.event)) is not None:
        return answer
    waiting_room.want_before_sale(listing.event)
    page = render_event(tenant_of_path(), listing, Form(key=response_cache.FORM_KEY))
    return response_cache.page(found.version, page, _headers(listing.event), tenant)


def _place_of(event: Event) -> Response | None:
    """Return the page of somebody who has to wait, if this process did not know that before."""
    answer = waiting_room.enter(event)
    waits = waiting_room.waits(request.environ)
    return answer if waits is None or answer is not None else _waiting(event.slug, waits)


def _waiting(event: str, waits: Waits) -> Response:
    page = render_waiting_room(tenant_of_path(), event, waits)
    return waiting_room.page(waits, page, HEADERS)


def _headers(event: Event) -> Sequence[tuple[str, str]]:
    return HEADERS + _CACHE + ((NOT_SEARCHED,) if event.is_unlisted else ())


@blp.post("/<tenant:tenant>/<slug:event>/order")
def order(tenant: str, event: str) -> AnyResponse:
    """Order tickets, and go to the page of the order. If that fails, show the form again.

    If a ticket type is sold out or the event is canceled, go to the event's page: the form has
    nothing that could be changed, and that page costs little.
    """
    wanted: Sequence[Wanted] = ()
    try:
        form = forms.read(OrderForm, besides=_BESIDES)
        wanted = cart.read(form)
        made = _order(event, form, wanted)
        made = replace(made, read=checkout.read_only_type(tenant, made))
        if _may_order(made):
            ordered = redirect(links.order(_once(tenant, made), 0, config().keyring), 303)
            return waiting_room.leave(ordered, f"/{tenant}/{event}")
    except NotFound:
        public_listing.get_canceled_event(tenant_of_path(), event)
        return redirect(f"/{tenant}/{event}{render.chosen_query()}", 303)
    except SoldOut as error:
        if not holds.is_sold_out(checkout.read_only_type(tenant, made)):
            return _refused(tenant_of_path(), event, error, wanted)
    except TicketingError as error:
        return _refused(tenant_of_path(), event, error, wanted)
    return redirect(f"/{tenant}/{event}{render.chosen_query()}#sold-out", 303)


def _may_order(made: Order) -> bool:
    """Return whether to try it: some are left, or the form was sent before."""
    if not holds.is_sold_out(made.read) or was_sent(forms.key()):
        return True
    return made.by.replaced() is not None


def _once(tenant: str, made: Order) -> str:
    """Place an order once for this form and content, and return its id.

    Example: a form orders 2, then 1 after going back, and then 2 again. The third time is not the
    repeat of the first, whose order was replaced: it replaces the second one.
    """

    placed: list[str] = []

    def place() -> str:
        placed.append(checkout.preflight(tenant, made, config()).id)
        return placed[-1]

    with guesses.counted(made.voucher):
        replaced = made.by.replaced()
        if replaced is not None and not was_sent(forms.key()):
            checkout.look_at_replaced(made, config())
        intent_id = once(forms.key(), place)
        newer = None if placed else made.by.replaced()
        return intent_id if newer is None or newer.id == intent_id else place()


def _order(event: str, form: Mapping[str, Any], wanted: Sequence[Wanted]) -> Order:
    return Order(
        event_id=event,
        wanted=wanted,
        by=Person(
            client(),
            address(),
            form=form_digests(forms.key()),
            entrance=waiting_room.entrance_of_page(),
        ),
        chain_id=form.get("chain_id"),
        voucher=form.get("voucher"),
        buyer_email=form.get("email"),
        buyer_name=form.get("name"),
        locale=locales.chosen(request.environ["QUERY_STRING"]),
        answers=_answers(event, [each.ticket_id for each in wanted]),
    )


def _answers(event: str, type_ids: Sequence[str]) -> dict[str, Any]:
    """Return the answers to the questions that are asked for the chosen tickets. NotFound."""
    if not answers.were_sent():
        return {}
    asked = public_listing.get_event(tenant_of_path(), event, config()).value.questions
    return answers.read([each for each in asked if is_before(each) and each.is_for(type_ids)])


def _canceled_or_series(tenant: Tenant, slug: str) -> Response:
    try:
        found = public_listing.get_canceled_event(tenant, slug)
    except NotFound:
        return Response(render_series(tenant, slug))
    page = render.page(
        "event_canceled.html",
        tenant=tenant,
        event=found.value,
        json_ld=json_ld.event(found.value, [], tenant, origin.origin()),
    )
    return response_cache.page(found.version, page, _headers(found.value), tenant.slug)


def _with_code(tenant: Tenant, event: str, code: str) -> Response:
    """Show the event with a code applied, or say at its field that it is wrong. NotFound."""
    values = {response_cache.CODE: code[:MAX_CODE_TYPED]}
    try:
        with guesses.counted(code):
            voucher = vouchers.find(tenant.id, event, code)
    except (VoucherInvalid, VoucherHeld, TooManyGuesses) as error:
        listing = _listing(tenant, event)
        form = Form(values=values, errors=_of_code(error, listing.event))
        response = forms.shown_again(render_event(tenant, listing, form), error)
    else:
        listing = _listing(tenant, event, voucher)
        response = Response(render_event(tenant, listing, Form(values=values), voucher))
    response.headers.update(response_cache.OF_CODE)
    return response


def _refused(
    tenant: Tenant, event: str, error: TicketingError, wanted: Sequence[Wanted]
) -> Response:
    """Show the form again, as it was filled in, with what is wrong at its field."""
    form = forms.refused(error)
    code = form.values.get(response_cache.CODE)
    is_of_code = isinstance(
        error, (VoucherInvalid, VoucherHeld, VoucherNotApplicable, TooManyGuesses)
    )
    voucher = None if code is None or is_of_code else _voucher(tenant, event, code)
    listing = _listing(tenant, event, voucher)
    of_tickets = cart.refused(error, wanted, listing.ticket_types.data)
    others = {name: form.errors[name] for name in form.errors if not name.startswith("items.")}
    if code is not None and is_of_code:
        errors = _of_code(error, listing.event)
    else:
        errors = {**of_tickets, **others}
    shown = replace(form, errors=errors)
    response = forms.shown_again(render_event(tenant, listing, shown, voucher), error)
    return waiting_room.keep_place(response, error, f"/{tenant.slug}/{listing.event.slug}")


def _voucher(tenant: Tenant, event: str, code: str) -> Voucher | None:
    """Return the voucher of an order that was refused for another reason. None if it has ended."""
    with suppress(VoucherInvalid, VoucherHeld):
        return vouchers.find(tenant.id, event, code)
    return None


def _of_code(error: TicketingError, event: Event) -> dict[str, Sentence]:
    if isinstance(error, VoucherHeld):
        text = N_(
            "All uses of this code are in orders that are not paid yet. Try again at %(time)s."
        )
        time = formats.time_of_day(error.until, event.timezone)
        return {response_cache.CODE: Sentence(text, {"time": time})}
    left = error.extensions.get("usages_left")
    if left:
        text = N_("This code is good for %(n)s more. Order the other tickets without it.")
        return {response_cache.CODE: Sentence(text, {"n": left})}
    return {response_cache.CODE: Sentence(reason(error), {})}


def _listing(tenant: Tenant, event: str, voucher: Voucher | None = None) -> Listing:
    return public_listing.get_listing(tenant, event, _all(), config(), voucher).value


def _all() -> PageRequest:
    return PageRequest(MAX_PAGE, None, config().keyring)
