"""The pages of an order that people print: its tickets, one on each sheet, and its receipt."""

from flask import Response, g, jsonify
from werkzeug import Response as AnyResponse

from schemas.receipts import BillingChangeSchema, ReceiptSchema
from ticketing import links
from ticketing.pages import forms, qr, render
from ticketing.pages.blueprint import PageBlueprint
from ticketing.pages.forms import Form
from ticketing.pages.guards import OrderLink
from ticketing.services import admission_views
from ticketing.services.orders import billing, items, receipts
from ticketing.web.context import config

_dump = ReceiptSchema().dump

blp = PageBlueprint("papers", __name__, guard=OrderLink(), is_secret=True)


@blp.get("/o/<link>/print")
def show_tickets(link: str) -> str:
    """Show the tickets of an order with their QR codes, each on a sheet of its own.

    Those that the order's page does not open are left out: passed on, taken back, suspended.
    """
    intent = g.intent
    admission_views.add_to_order(intent, None, config().keyring)
    items.read([intent])
    return render.page(
        "order_print.html",
        tenant=intent.tenant,
        event=intent.event,
        intent=intent,
        tickets=[each for each in intent.admissions if each.shown_qr],
        path=_path(),
        qr=qr.svg,
    )


@blp.get("/o/<link>/receipt")
def show_receipt(link: str) -> str:
    """Show the receipt of an order in its present state."""
    return _receipt(Form())


@blp.get("/o/<link>/receipt.json")
def download_receipt(link: str) -> Response:
    """Send the same as a file for accountants, as the API has it."""
    response = jsonify(_dump(receipts.find(g.order, config())))
    response.headers["Content-Disposition"] = f'attachment; filename="receipt-{g.order}.json"'
    return response


@blp.post("/o/<link>/billing")
def write_billing(link: str) -> AnyResponse:
    """Write who the order is billed to. An empty field removes that from the receipt."""

    def write() -> str:
        sent = forms.read(BillingChangeSchema)
        billing.write(g.intent.tenant_id, g.order, **sent)
        return f"{_path()}/receipt"

    return forms.carried_out(write, _receipt)


def _receipt(form: Form) -> str:
    receipt = receipts.find(g.order, config())
    return render.page(
        "order_receipt.html",
        tenant=receipt.seller,
        event=receipt.event,
        intent=receipt.intent,
        receipt=receipt,
        path=_path(),
        form=form,
    )


def _path() -> str:
    return links.order(g.order, g.intent.link_generation, config().keyring)
