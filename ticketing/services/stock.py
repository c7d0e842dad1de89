"""The stock of a ticket type. Every change is one conditional UPDATE whose row count is checked."""

from typing import Any

from ticketing.constants import Publication
from ticketing.models.ticket_types import TicketType


class StockMoved(Exception):
    """The books and the stock disagree: what is to be released or sold was not held."""


def hold(ticket_type_id: str, quantity: int) -> TicketType | None:
    """Set `quantity` aside if that many are left; return the ticket type as it is now.

    None if fewer are left.
    """
    rows = (
        TicketType.update(held=TicketType.held + quantity)
        .where(
            TicketType.id == ticket_type_id,
            TicketType.capacity.is_null()
            | (TicketType.held + TicketType.sold + quantity <= TicketType.capacity),
        )
        .returning(TicketType)
        .execute()
    )
    return next(iter(rows), None)


def hold_again(ticket_type_id: str, quantity: int) -> bool:
    """Set `quantity` aside once more for an order that had lost it. False if it cannot be.

    What is not on sale any more is not sold late either.
    """
    held = hold(ticket_type_id, quantity)
    if held is None:
        return False
    if Publication.PUBLISHED == held.status == held.event.status:
        return True
    release(ticket_type_id, quantity)
    return False


def release(ticket_type_id: str, quantity: int) -> None:
    """Give back what was held. StockMoved."""
    _move(ticket_type_id, quantity, held=TicketType.held - quantity)


def sell(ticket_type_id: str, quantity: int) -> None:
    """Turn what was held into sold. StockMoved."""
    _move(
        ticket_type_id,
        quantity,
        held=TicketType.held - quantity,
        sold=TicketType.sold + quantity,
    )


def _move(ticket_type_id: str, quantity: int, **changes: Any) -> None:
    moved = (
        TicketType.update(**changes)
        .where(TicketType.id == ticket_type_id, TicketType.held >= quantity)
        .execute()
    )
    if moved != 1:
        raise StockMoved(f"{ticket_type_id} does not hold {quantity}")
