"""The stock of a ticket type. Each change is one conditional UPDATE. Its row count is checked."""

from __future__ import annotations

from typing import Any

from peewee import ModelUpdate

from ticketing.models.prepared import Prepared
from ticketing.models.ticket_types import TicketType


class StockMoved(Exception):
    """The stock is inconsistent: the quantity to move was not held or not sold."""


def _is_left(quantity: Any) -> Any:
    taken = TicketType.held + TicketType.sold + quantity
    return TicketType.capacity.is_null() | (taken <= TicketType.capacity)


@Prepared
def _hold(ticket_type_id: Any, quantity: Any) -> ModelUpdate:
    return (
        TicketType.update(held=TicketType.held + quantity)
        .where(TicketType.id == ticket_type_id, _is_left(quantity))
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


@Prepared
def _take_back(ticket_type_id: Any, quantity: Any) -> ModelUpdate:
    return TicketType.update(sold=TicketType.sold - quantity).where(
        TicketType.id == ticket_type_id, TicketType.sold >= quantity
    )


@Prepared
def _admit(ticket_type_id: Any, quantity: Any) -> ModelUpdate:
    return TicketType.update(sold=TicketType.sold + quantity).where(
        TicketType.id == ticket_type_id, _is_left(quantity)
    )


def hold(ticket_type_id: str, quantity: int) -> TicketType | None:
    """Hold `quantity` if that many are left, and return the updated ticket type.

    None if fewer are left.
    """
    return _hold.first(ticket_type_id=ticket_type_id, quantity=quantity)


def release(ticket_type_id: str, quantity: int) -> None:
    """Release held tickets. StockMoved."""
    _move(_release, ticket_type_id, quantity)


def sell(ticket_type_id: str, quantity: int) -> None:
    """Turn held tickets into sold ones. StockMoved."""
    _move(_sell, ticket_type_id, quantity)


def admit(ticket_type_id: str, quantity: int) -> bool:
    """Count tickets for guests as sold. Return whether that many were left."""
    return _admit.run(ticket_type_id=ticket_type_id, quantity=quantity) == 1


def take_back(ticket_type_id: str, quantity: int) -> None:
    """Put sold tickets on sale again. StockMoved."""
    _move(_take_back, ticket_type_id, quantity)


def _move(change: Prepared[TicketType], ticket_type_id: str, quantity: int) -> None:
    if change.run(ticket_type_id=ticket_type_id, quantity=quantity) != 1:
        raise StockMoved(f"{ticket_type_id} has fewer than {quantity} to move")
