"""The same tables for people and their spreadsheets: names, words, local times, decimal amounts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from ticketing.constants import MICRO_UNIT_DECIMALS
from ticketing.models.admissions import Admission
from ticketing.services.exports import tables
from ticketing.services.exports.tables import Table

Words = Mapping[str, str]
"""What statuses are called."""


def attendees(zone: str, words: Words) -> Table:
    """Return the table of an event's tickets. Times are those of `zone`."""
    of = tables.ATTENDEES.columns
    columns: dict[str, Callable[[Any], Any]] = {
        "Name": of["holder_name"],
        "Email": of["holder_email"],
        "Ticket": of["ticket_type"],
        "Price": lambda row: _decimal(of["amount"](row)),
        "Guest": lambda row: "yes" if of["intent_id"](row) is None else "",
        "Status": lambda row: words[of["status"](row)],
        "Came in": lambda row: _local(of["redeemed_at"](row), zone),
        "Gate": of["redeemed_gate"],
    }
    return replace(tables.ATTENDEES, name="attendees-for-people", columns=columns)


def orders(zone: str, words: Words) -> Table:
    """Return the table of an event's orders. Times are those of `zone`."""
    of = tables.ORDERS.columns
    columns: dict[str, Callable[[Any], Any]] = {
        "Ordered": lambda order: _local(order.created_at, zone),
        "Name": of["buyer_name"],
        "Email": of["buyer_email"],
        "Tickets": of["items"],
        "Price": lambda order: _decimal(order.amount),
        "Received": lambda order: _decimal(order.amount_received),
        "Paid back": lambda order: _decimal(order.refunded),
        "Kept": lambda order: _decimal(order.home.kept),
        "Currency": of["currency"],
        "Status": lambda order: words[order.status],
    }
    return replace(tables.ORDERS, name="orders-for-people", columns=columns)


CHOSEN: dict[str, Callable[[Admission, Words], Any]] = {
    "Name": lambda ticket, _: ticket.holder_name,
    "Email": lambda ticket, _: ticket.holder_email,
    "Event": lambda ticket, _: ticket.event.title,
    "Ticket": lambda ticket, _: ticket.ticket_type.name,
    "Status": lambda ticket, words: words[ticket.status],
    "Came in": lambda ticket, _: _local(ticket.redeemed_at, ticket.event.timezone),
}
"""The columns of tickets that may be of several events."""


def _decimal(micro_units: int) -> Decimal:
    return Decimal(micro_units).scaleb(-MICRO_UNIT_DECIMALS).quantize(Decimal("0.01"))


def _local(at: datetime | None, zone: str) -> str | None:
    """Return a time as spreadsheets read it, such as 2026-12-24 20:00."""
    return None if at is None else at.astimezone(ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M")
