"""The console's downloads: the CSV files of an event."""

from flask import Response

from ticketing.pages.console.blueprint import ConsoleBlueprint
from ticketing.pages.console.words import ORDER_STATUSES, TICKET_STATUSES
from ticketing.roles import Role
from ticketing.services.exports import files
from ticketing.web.context import caller
from ticketing.web.download import download
from ticketing.web.event_scope import ONE_EVENT

blp = ConsoleBlueprint(
    "exports",
    __name__,
    reads={Role.READ, Role.FINANCE},
    writes={Role.READ, Role.FINANCE},
    scope=ONE_EVENT,
    url_prefix="/console/events/<event_id>",
)


@blp.get("/attendees.csv")
def download_attendees(event_id: str) -> Response:
    """Download all tickets of an event, without their codes."""
    return download(files.attendees(caller().tenant_id, event_id))


@blp.get("/orders.csv")
def download_orders(event_id: str) -> Response:
    """Download all orders of an event."""
    return download(files.orders(caller().tenant_id, event_id))


@blp.get("/attendees-for-people.csv")
def download_attendees_for_people(event_id: str) -> Response:
    """Download all tickets of an event for a spreadsheet, with words and local times."""
    words = {str(status): word.label for status, word in TICKET_STATUSES.items()}
    return download(files.attendees_for_people(caller().tenant_id, event_id, words))


@blp.get("/orders-for-people.csv")
def download_orders_for_people(event_id: str) -> Response:
    """Download all orders of an event for a spreadsheet, with words and local times."""
    words = {str(status): word.label for status, word in ORDER_STATUSES.items()}
    return download(files.orders_for_people(caller().tenant_id, event_id, words))


@blp.get("/items.csv")
def download_items(event_id: str) -> Response:
    """Download what all orders of an event are of: a row for each ticket type of an order."""
    return download(files.items(caller().tenant_id, event_id))


@blp.get("/payments.csv")
def download_payments(event_id: str) -> Response:
    """Download the payments to an event's orders, and the refunds of them."""
    return download(files.payments(caller().tenant_id, event_id))
