"""The pages of an order that people print: its tickets, one on each sheet."""

from flask import g

from ticketing import links
from ticketing.pages import qr, render
from ticketing.pages.blueprint import PageBlueprint
from ticketing.pages.guards import OrderLink
from ticketing.services import admission_views
from ticketing.services.orders import intents, items
from ticketing.web.context import config

blp = PageBlueprint("papers", __name__, guard=OrderLink(), is_secret=True)


@blp.get("/o/<link>/print")
def show_tickets(link: str) -> str:
    """Show the tickets of an order with their QR codes, each on a sheet of its own.

    Those that the order's page does not open are left out: passed on, taken back, suspended.
    """
    intent = intents.find(g.order)
    admission_views.add_to_order(intent, None, config().keyring)
    items.add_names([intent])
    return render.page(
        "order_print.html",
        tenant=intent.tenant,
        event=intent.event,
        intent=intent,
        tickets=[each for each in intent.admissions if each.shown_qr],
        path=links.order(intent.id, config().keyring),
        qr=qr.svg,
    )
