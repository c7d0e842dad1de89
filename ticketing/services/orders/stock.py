"""The stock of a ticket type. Every change is one conditional UPDATE whose row count is checked."""

from __future__ import annotations

from typing import Any

from peewee import ModelUpdate

from ticketing.models.prepared import Prepared
from ticketing.models.ticket_types import TicketType


class StockMoved(Exception):
    """The books and the stock disagree: what is to be released or sold was not held."""


@Prepared
def _hold(ticket_type_id: Any, quantity: Any) -> ModelUpdate:
    return (
        TicketType.update(held=TicketType.held + quantity)
        .where(
            TicketType.id == ticket_type_id,
            TicketType.capacity.is_null()
            | (TicketType.held + TicketType.sold + quantity <= TicketType.capacity),
        )
        .returning(TicketType)
    )


@Prepared
def _release(ticket_type_id: Any, quantity: Any) -> ModelUpdate:
    return TicketType.update(held=TicketType.held - quantity).where(
        TicketType.id == ticket_type_id, TicketType.held >= quantity
    )


@Prepared
def _sell(ticket_type_id: Any, quantity: Any) -> ModelUpdate:
    return TicketType.update(
        held=TicketType.held - quantity, sold=TicketType.sold + quantity
    ).where(TicketType.id == ticket_type_id, TicketType.held >= quantity)


def hold(ticket_type_id: str, quantity: int) -> TicketType | None:
    """Set `quantity` aside if that many are left; return the ticket type as it is now.

    None if fewer are left.
    """
    return _hold.first(ticket_type_id=ticket_type_id, quantity=quantity)


def release(ticket_type_id: str, quantity: int) -> None:
    """Give back what was held. StockMoved."""
    _move(_release, ticket_type_id, quantity)


def sell(ticket_type_id: str, quantity: int) -> None:
    """Turn what was held into sold. StockMoved."""
    _move(_sell, ticket_type_id, quantity)


def _move(change: Prepared[TicketType], ticket_type_id: str, quantity: int) -> None:
    if change.run(ticket_type_id=ticket_type_id, quantity=quantity) != 1:
        raise StockMoved(f"{ticket_type_id} does not hold {quantity}")
