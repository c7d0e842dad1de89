"""The lines of an order: what a buyer wants, with its ticket types and prices as they are now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from ticketing.models.payment_intents import Item
from ticketing.models.ticket_types import TicketType
from ticketing.models.vouchers import Voucher
from ticketing.services.orders import vouchers
from ticketing.services.orders.stock import Seats


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
    """What a buyer wants of one ticket type, with the type as it was read last.

    `voucher` is that of the order, whether or not it is for this ticket type.
    """

    wanted: Wanted
    ticket_type: TicketType
    voucher: Voucher | None = None

    @property
    def quantity(self) -> int:
        """How many seats."""
        return self.wanted.quantity

    @cached_property
    def list_amount(self) -> int:
        """The price of a seat, or the lowest one if the price is free."""
        return int(self.ticket_type.price_amount)

    @cached_property
    def is_vouchered(self) -> bool:
        """Whether each of its seats uses the voucher once."""
        return self.voucher is not None and vouchers.applies_to(self.voucher, self.ticket_type)

    @cached_property
    def least_amount(self) -> int:
        """The price of a seat, or the lowest one if the price is free, with the voucher."""
        if self.voucher is None or not self.is_vouchered:
            return self.list_amount
        return vouchers.price(self.voucher, self.list_amount)

    @cached_property
    def unit_amount(self) -> int:
        """What a seat costs in this order."""
        chosen = self.wanted.price_amount
        return self.least_amount if chosen is None else chosen

    @property
    def amount(self) -> int:
        """What all its seats cost."""
        return self.unit_amount * self.quantity

    @cached_property
    def item(self) -> Item:
        """The item of an order."""
        return Item(
            self.ticket_type.id,
            self.quantity,
            self.list_amount,
            self.unit_amount,
            self.ticket_type.admission,
            self.is_vouchered,
            self.ticket_type.return_terms,
            min(self.ticket_type.deposit_amount, self.unit_amount),
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


def voucher_usages(lines: Sequence[Line]) -> int:
    """Return how often an order of these lines uses its voucher: once for each seat it is for."""
    return sum(line.quantity for line in lines if line.is_vouchered)


def free_seats(lines: Sequence[Line]) -> int:
    """Return the number of seats that cost nothing, and count in the limit of free ones.

    Those do not that a voucher for few makes free: a sponsor takes all of theirs at once.
    """
    return sum(line.quantity for line in lines if line.unit_amount == 0 and not _is_given(line))


def _is_given(line: Line) -> bool:
    voucher = line.voucher
    return voucher is not None and line.is_vouchered and not vouchers.is_public(voucher)


def stocks_of(lines: Sequence[Line]) -> Seats:
    """Return what the lines of one event take of the stocks."""
    event, voucher = lines[0].ticket_type.event, lines[0].voucher
    return Seats(
        tuple(line.item for line in lines),
        None if event.capacity is None else event.id,
        None if voucher is None else voucher.id,
    )


def has_deposit(lines: Sequence[Line]) -> bool:
    """Return whether a part of what any seat costs comes back to who came."""
    return any(line.item.deposit_amount for line in lines)
