"""The pages for people who lost the links of their orders: ask for them, and see them all."""

from datetime import datetime

from flask import Response, g, redirect, request
from werkzeug import Response as AnyResponse

from schemas.forms import EmailForm
from ticketing import links
from ticketing.limits import LINKS_HOURS, CallClass
from ticketing.notification_types import MailKind
from ticketing.pages import forms, render
from ticketing.pages.blueprint import PageBlueprint
from ticketing.pages.forms import Form
from ticketing.pages.guards import OrdersLink, Visitor
from ticketing.services.access import tenants
from ticketing.services.mail import asked_mails, lost_links
from ticketing.web.context import client, config, tenant_of_path

_PATH = "/_f/<tenant:tenant>"

_MOST_PAGES = 1_000
"""So that no number in a query is too large for the database."""

blp = PageBlueprint("lost_links", __name__, guard=Visitor(posts_as=CallClass.PREFLIGHT))
orders_blp = PageBlueprint("orders_of_address", __name__, guard=OrdersLink(), is_secret=True)


@blp.get(_PATH)
def show_form(tenant: str) -> str:
    """Ask for the email address of the orders."""
    return _page(Form())


@blp.post(_PATH)
def ask_for_links(tenant: str) -> AnyResponse:
    """Plan a mail with the links. The answer is the same for every address."""

    def ask() -> AnyResponse:
        sent = forms.read(EmailForm)
        kind = MailKind.LOST_LINKS
        lately = asked_mails.plan(kind, tenant_of_path(), sent["email"], client(), config())
        if lately is not None:
            return Response(_page(Form(), lately))
        return redirect(f"/_f/{tenant}{render.chosen_query()}#sent", 303)

    return forms.answered(ask, _page)


def _page(form: Form, lately: datetime | None = None) -> str:
    return render.page(
        "lost_links.html",
        tenant=tenant_of_path(),
        form=form,
        lately=lately,
        every=LINKS_HOURS,
        writes_mail=config().smtp is not None,
    )


@orders_blp.get("/_l/<link>")
def show_orders(link: str) -> str:
    """Show all orders of an address, as its mail does, some on each page."""
    of, config_now = g.orders_link, config()
    number = max(1, request.args.get("page", 1, type=int))
    size = lost_links.MOST_OF_PAGE
    skipped = min(number - 1, _MOST_PAGES) * size
    found = lost_links.orders_of(of.tenant_id, of.email, client(), size, skipped)
    more = len(found) == size and number <= _MOST_PAGES
    return render.page(
        "orders_of_address.html",
        tenant=tenants.get(of.tenant_id),
        path=links.ORDERS + link,
        email=of.email,
        until=of.until,
        orders=lost_links.shown(found, config_now),
        next_page=number + 1 if more else None,
    )
