"""The lines of an order: what a buyer wants, with its ticket types and prices as they are now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ticketing.models.payment_intents import Item
from ticketing.models.ticket_types import TicketType


class Wanted(NamedTuple):
    """Seats of a ticket type that a buyer wants.

    `price_amount`: what they choose to pay for each, in micro-units, where the price is free.
    """

    ticket_id: str
    quantity: int = 1
    price_amount: int | None = None


def all_wanted(items: Sequence[Mapping[str, Any]]) -> tuple[Wanted, ...]:
    """Return what the items of a request want."""
    return tuple(Wanted(**item) for item in items)


@dataclass(frozen=True)
class Line:
    """What a buyer wants of one ticket type, with the type as it was read last."""

    wanted: Wanted
    ticket_type: TicketType

    @property
    def quantity(self) -> int:
        """How many seats."""
        return self.wanted.quantity

    @property
    def list_amount(self) -> int:
        """The price of a seat, or the lowest one if the price is free."""
        return int(self.ticket_type.price_amount)

    @property
    def unit_amount(self) -> int:
        """What a seat costs in this order."""
        return self.list_amount if self.wanted.price_amount is None else self.wanted.price_amount

    @property
    def amount(self) -> int:
        """What all its seats cost."""
        return self.unit_amount * self.quantity

    @property
    def item(self) -> Item:
        """The item of an order."""
        return Item(
            self.ticket_type.id,
            self.quantity,
            self.list_amount,
            self.unit_amount,
            self.ticket_type.admission,
            False,
        )


def seats(lines: Sequence[Line]) -> int:
    """Return the number of seats."""
    return sum(line.quantity for line in lines)


def admission_seats(lines: Sequence[Line]) -> int:
    """Return the number of seats that count in the event's capacity."""
    return sum(line.quantity for line in lines if line.ticket_type.admission)


def amount(lines: Sequence[Line]) -> int:
    """Return what all seats cost, in micro-units."""
    return sum(line.amount for line in lines)


def free_seats(lines: Sequence[Line]) -> int:
    """Return the number of seats that cost nothing."""
    return sum(line.quantity for line in lines if line.unit_amount == 0)


def needs_items(lines: Sequence[Line]) -> bool:
    """Return whether an order of these lines needs rows of its own for its items."""
    (item, *others) = [line.item for line in lines]
    plain = item.list_amount == item.unit_amount and item.admission and not item.vouchered
    return bool(others) or not plain
