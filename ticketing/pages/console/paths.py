"""The paths of the console's pages of events, of the wallet, of refunds and of money."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from ticketing.models.order_accounts import OrderAccount

EVENTS = "/console/events"
NEW_EVENT = f"{EVENTS}/new"
WALLET = "/console/wallet"
CREDITED = f"{WALLET}/credited"
MONEY = "/console/money"
REFUNDS = "/console/refunds"


def refund(account: OrderAccount) -> str:
    """Return the path of the page of an account's refund. The home of an order needs no query."""
    path = f"{REFUNDS}/{account.intent_id}"
    if account.is_home:
        return path
    named = {"chain_id": account.chain_id, "token_address": account.token_address}
    return f"{path}?{urlencode(named)}"


def refund_named(intent_id: str, fields: Mapping[str, Any]) -> str:
    """Return the path of the page of the refund that a form names."""
    named = {name: fields[name] for name in ("chain_id", "token_address") if fields.get(name)}
    return f"{REFUNDS}/{intent_id}{'?' if named else ''}{urlencode(named)}"


def event(event_id: str, page: str = "") -> str:
    """Return the path of an event's page, or of a page of it, such as `edit`."""
    return f"{EVENTS}/{event_id}{page and '/'}{page}"


def series(slug: str) -> str:
    """Return the path of the page of a series."""
    return f"/console/series/{slug}"


def ticket_type(event_id: str, ticket_id: str, page: str = "") -> str:
    """Return the path of a ticket type's page, or of a page of it."""
    return f"{event(event_id, 'tickets')}/{ticket_id}{page and '/'}{page}"


def vouchers(event_id: str) -> str:
    """Return the path of the list of an event's vouchers."""
    return event(event_id, "vouchers")


def voucher(event_id: str, page: str) -> str:
    """Return the path of the page of a voucher, or of the forms `new` and `batch`."""
    return f"{vouchers(event_id)}/{page}"


def waiting_list(event_id: str, entry_id: str = "", page: str = "") -> str:
    """Return the path of the waiting list of an event, or of what is done with one place."""
    return event(event_id, "/".join(filter(None, ("waiting-list", entry_id, page))))


def messages(event_id: str, message_id: str = "") -> str:
    """Return the path of the messages of an event, or of one of them."""
    return event(event_id, "/".join(filter(None, ("messages", message_id))))


def new_ticket_type(event_id: str) -> str:
    """Return the path of the form for a new ticket type."""
    return ticket_type(event_id, "new")


def questions(event_id: str, question_id: str = "", page: str = "") -> str:
    """Return the path of the questions of an event, of one of them, or of a page of it."""
    return "/".join(filter(None, (event(event_id, "questions"), question_id, page)))
