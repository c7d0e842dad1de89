"""The page of an order: paying, then its tickets, and what becomes of money that is owed."""

from collections.abc import Callable
from contextlib import suppress
from urllib.parse import urlencode

from flask import Response, g, redirect, request
from werkzeug import Response as AnyResponse

from schemas.forms import ChainForm, EmailForm, EmptyForm, RefundAddressForm
from ticketing import links, qr_codes
from ticketing.errors import (
    HoldExtended,
    IntentCanceled,
    IntentExpired,
    IntentReversed,
    Invalid,
    LookedJustNow,
    NetworkUnavailable,
    NotFound,
    PaymentRequired,
    SalesEnded,
    TicketingError,
)
from ticketing.limits import CallClass
from ticketing.models.payment_intents import Item
from ticketing.pages import forms, order_view, qr, render
from ticketing.pages.blueprint import PageBlueprint
from ticketing.pages.forms import Form
from ticketing.pages.guards import OrderLink
from ticketing.pages.order_accounts import AccountView
from ticketing.pages.order_view import Way
from ticketing.services import checkout
from ticketing.services.channels import Person
from ticketing.services.order_requests import Order
from ticketing.services.orders import answers, buyer_emails, intents
from ticketing.services.orders.lines import Wanted
from ticketing.services.payments import (
    demo_wallet,
    hold_extensions,
    home_choice,
    refund_addresses,
)
from ticketing.web import origin, rate_limit
from ticketing.web.context import address, client, config
from ticketing.web.idempotency import once


class _Asked(Exception):
    """The buyer must choose again on the event's page, or wait there."""


blp = PageBlueprint("orders", __name__, guard=OrderLink(), is_secret=True)


@blp.get("/o/<link>")
def show_order(link: str) -> str:
    """Show the order in its present state.

    `way` is how the buyer wants to pay. `back` names an account: the page asks where its money
    shall go.
    """
    return _page(Form())


@blp.get("/o/<link>/request.png")
def show_request_code(link: str) -> AnyResponse:
    """Send the QR code of the payment request (EIP-681). NotFound if nothing is due.

    Few buyers open it, and it is the most expensive part of the page. So it is not in the page.
    """
    intent = g.intent
    intents.add_payment_details([intent])
    if intent.payment_uri is None:
        raise NotFound("There is nothing to pay.")
    return Response(qr.file(intent.payment_uri), mimetype="image/png")


@blp.get("/o/<link>/payment-link.png")
def show_payment_link_code(link: str) -> AnyResponse:
    """Send the QR code of the link with which somebody else can pay."""
    return Response(qr.file(_payment_link(g.order)), mimetype="image/png")


@blp.post("/o/<link>/purchase")
def purchase(link: str) -> AnyResponse:
    """Look for the payment now: the buyer says that they have paid. Or take free tickets."""
    return _carried_out(_look)


@blp.post("/o/<link>/cancel")
def cancel(link: str) -> AnyResponse:
    """Cancel an order that has received nothing."""
    tenant_id = g.intent.tenant_id
    return _carried_out(lambda: checkout.cancel(tenant_id, g.order, config(), client()).id)


@blp.post("/o/<link>/hold")
def pay_from_exchange(link: str) -> AnyResponse:
    """Hold the tickets longer, and go to the steps for an exchange. The second time, only go."""
    tenant_id = g.intent.tenant_id
    try:
        with suppress(HoldExtended):
            hold_extensions.extend(tenant_id, g.order, config())
    except TicketingError as error:
        return forms.shown_again(_page(forms.refused(error), Way.EXCHANGE), error)
    return redirect(f"{_path(g.order)}?way={Way.EXCHANGE}", 303)


@blp.post("/o/<link>/chain")
def pay_on_another_network(link: str) -> AnyResponse:
    """Move the order to another of its networks. Of one that has ended, the page says so."""
    tenant_id = g.intent.tenant_id
    try:
        with suppress(IntentExpired, IntentCanceled):
            chain_id = forms.read(ChainForm)["chain_id"]
            home_choice.choose(tenant_id, g.order, chain_id, config())
    except Invalid:  # it is none of the page's networks
        return _refused(NetworkUnavailable())
    except TicketingError as error:
        return _refused(error)
    return redirect(_path(g.order) + _query(_chosen_way()), 303)


@blp.post("/o/<link>/refund-address")
def state_refund_address(link: str) -> AnyResponse:
    """State where money that is owed shall go, on one network.

    Money that may still pay for the order is asked back with that, for good.
    """

    def state() -> str:
        stated = forms.read(RefundAddressForm)
        return refund_addresses.state(g.intent, config=config(), **stated).id

    return _carried_out(state)


@blp.post("/o/<link>/email")
def send_to_email(link: str) -> AnyResponse:
    """Say where the mails of the order go, and get the tickets there, or how to pay for them."""
    try:
        buyer_emails.send_to(g.intent, forms.read(EmailForm)["email"], config())
    except TicketingError as error:
        return _refused(error)
    return redirect(f"{_path(g.order)}{_query(_chosen_way())}#mailed", 303)


@blp.post("/o/<link>/again")
def order_again(link: str) -> AnyResponse:
    """Order the same tickets again, and go to the page of the new order.

    If the event asks something new, the network cannot be chosen any more, or others came first, go
    to the event's page: the form is there.
    """

    def order() -> str:
        # The new link has requests of its own, so count the order by address, as all orders.
        rate_limit.count_also(CallClass.PREFLIGHT, address())
        return _once(_order_again)

    try:
        return _carried_out(order)
    except _Asked:
        event = g.intent.event
        return redirect(f"/{event.tenant.slug}/{event.slug}", 303)


@blp.post("/o/<link>/demo-payment")
def pay_from_demo_wallet(link: str) -> AnyResponse:
    """Pay what is due from the wallet of a demo, on the local chain only."""

    def pay() -> str:
        _once(lambda: demo_wallet.pay(g.order, config()))
        return _look()

    return _carried_out(pay)


def _path(intent_id: str) -> str:
    """Return the path of this order's page, or of one that was made a moment ago."""
    generation = g.intent.link_generation if intent_id == g.order else 0
    return links.order(intent_id, generation, config().keyring)


def _payment_link(intent_id: str) -> str:
    """Return the whole link with which somebody else can pay. It opens no tickets."""
    return origin.origin() + links.payment(intent_id, g.intent.link_generation, config().keyring)


def _carried_out(act: Callable[[], str]) -> AnyResponse:
    """Go to the page of the order whose id `act` returns. If it is refused, the page says why."""
    try:
        return redirect(_path(act()), 303)
    except (PaymentRequired, LookedJustNow):
        return redirect(f"{_path(g.order)}{_query(_chosen_way())}#looked", 303)
    except TicketingError as error:
        return _refused(error)


def _refused(error: TicketingError) -> AnyResponse:
    """Show the page again, with what is wrong with the form that was sent."""
    return forms.shown_again(_page(forms.refused(error)), error)


def _look() -> str:
    """Look for the payment. The page shows what became of the order. PaymentRequired."""
    intent_id: str = g.order
    with suppress(IntentExpired, IntentCanceled, IntentReversed):
        checkout.purchase(intents.find(intent_id), config(), client())
    return intent_id


def _once(act: Callable[[], str]) -> str:
    forms.read(EmptyForm)
    return once(forms.key(), act)


def _order_again() -> str:
    before = g.intent
    if before.event.is_queueing:
        raise _Asked
    wanted = Order(
        event_id=before.event_id,
        wanted=[_again(item) for item in before.items],
        by=Person(client(), address()),
        chain_id=before.chain_id,
        buyer_email=before.buyer_email,
        buyer_name=before.buyer_name,
        locale=before.locale,
        answers=answers.again(before),
    )
    try:
        return checkout.preflight(before.tenant_id, wanted, config()).id
    except NotFound:
        raise SalesEnded from None  # it was sold once
    except (Invalid, NetworkUnavailable):
        raise _Asked from None


def _again(item: Item) -> Wanted:
    """Return what is wanted of an item again. A price above the list price was chosen freely."""
    chosen = item.unit_amount if item.unit_amount > item.list_amount else None
    return Wanted(item.ticket_type_id, item.quantity, chosen)


def _chosen_way() -> Way | None:
    """Return the way to pay in the query. None: there is none, or another word."""
    word = request.args.get("way", "")
    return Way(word) if word in [*Way] else None


def _query(way: Way | None, back: str | None = None) -> str:
    """Return the query of the page's address. An empty text without any choice."""
    chosen = {"way": way, "back": back}
    query = urlencode({name: text for name, text in chosen.items() if text is not None})
    return f"?{query}" if query else ""


def _page(form: Form, way: Way | None = None) -> str:
    # A form that was refused may have changed the order all the same.
    intent = g.intent if request.method == "GET" else intents.find(g.order)
    view = order_view.read(intent, config(), way or _chosen_way(), request.args.get("back"))
    empty = Form()

    def form_of(account: AccountView) -> Form:
        """The form that was sent, if it was for this account."""
        return form if account.is_named_by(form.values) else empty

    return render.page(
        "order.html",
        tenant=view.tenant,
        view=view,
        intent=view.intent,
        event=view.event,
        path=_path(view.intent.id),
        payment_link=_payment_link(view.intent.id),
        way_query=_query(view.chosen_way),
        query=_query(view.chosen_way, view.back),
        form_of=form_of,
        ticket_link=links.ticket,
        qr=qr_codes.picture,
        form=form,
    )
