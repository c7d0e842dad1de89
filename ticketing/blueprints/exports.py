"""The surface on which organizers download what belongs to an event as CSV files."""

from collections.abc import Callable
from typing import Any

from flask import Response

from ticketing.errors import NotFound, TooManyRequests
from ticketing.roles import Role
from ticketing.services.exports import files, tables
from ticketing.services.exports.tables import Table
from ticketing.web import auth
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import caller
from ticketing.web.download import download
from ticketing.web.event_scope import ONE_EVENT

blp = ApiBlueprint(
    "exports",
    __name__,
    url_prefix="/v1/admin/tenants/<tenant>/events/<event_id>",
    guard=auth.TenantRole(reads={Role.READ, Role.FINANCE}, writes={Role.WRITE}, scope=ONE_EVENT),
    description="CSV files of an event: RFC 4180, UTF-8 with a byte order mark. Amounts are"
    " integers in micro-units, but `amount_decimal` is in the currency. Text that a"
    " spreadsheet would run gets an apostrophe.",
)


def _csv(table: Table) -> Callable[[Any], Any]:
    columns = ",".join(table.columns)
    documented = "Columns: " + ", ".join(f"`{name}`" for name in table.columns)
    if table.ask is not None:
        documented += f". Then `answer_{{identifier}}` of each question of the kind `{table.ask}`."
    return blp.text(files.CONTENT_TYPE, example=f"{columns}\r\n", description=documented)


@blp.get("/attendees.csv")
@_csv(tables.ATTENDEES)
@blp.raises(NotFound, TooManyRequests)
def export_attendees(tenant: str, event_id: str) -> Response:
    """Download all admissions of an event, guests included, without their codes."""
    return download(files.attendees(caller().tenant_id, event_id))


@blp.get("/orders.csv")
@_csv(tables.ORDERS)
@blp.raises(NotFound, TooManyRequests)
def export_orders(tenant: str, event_id: str) -> Response:
    """Download all orders of an event.

    `ticket_id`, `ticket_type` and `unit_amount` are empty for an order of several ticket types.
    """
    return download(files.orders(caller().tenant_id, event_id))


@blp.get("/items.csv")
@_csv(tables.ITEMS)
@blp.raises(NotFound, TooManyRequests)
def export_items(tenant: str, event_id: str) -> Response:
    """Download what all orders of an event are of: a row for each ticket type of an order."""
    return download(files.items(caller().tenant_id, event_id))


@blp.get("/payments.csv")
@_csv(tables.PAYMENTS)
@blp.raises(NotFound, TooManyRequests)
def export_payments(tenant: str, event_id: str) -> Response:
    """Download the payments to an event's orders, and the refunds of them.

    The amount of a refund is negative. A row counts if it is canonical: the others left the chain.
    """
    return download(files.payments(caller().tenant_id, event_id))
