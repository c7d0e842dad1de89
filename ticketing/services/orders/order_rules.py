"""What one order may contain: the rules of its ticket types, and of an order of several."""

from __future__ import annotations

from collections.abc import Sequence

from ticketing import clock
from ticketing.constants import LEAST_FREE_PRICE, MAX_PRICE, Publication
from ticketing.errors import (
    AboveMaximum,
    BelowMinimum,
    Conflict,
    EventOver,
    FieldMessage,
    Invalid,
    KeyRequired,
    NeedsTicket,
    NoCommonNetwork,
    NotFound,
    OneTypeOnly,
    OverMaxAmount,
    SalesEnded,
    SalesNotStarted,
    VoucherRequired,
)
from ticketing.services.orders import lines
from ticketing.services.orders.lines import Line

NOT_SOLD_THERE = FieldMessage("chain_not_sold", "This ticket type is not sold on that chain.")


def check(
    wanted: Sequence[Line], *, chain_id: int | None, max_amount: int | None, has_key: bool
) -> None:
    """Check an order's lines, which have their event.

    `chain_id` and `max_amount` (micro-units) are what the buyer accepts, None: anything. `has_key`:
    the request has a credential.

    NotFound. KeyRequired. VoucherRequired. Invalid. OneTypeOnly, NeedsTicket, NoCommonNetwork,
    OverMaxAmount. SalesNotStarted, SalesEnded, EventOver, BelowMinimum, AboveMaximum: with several
    lines, `errors` names the line.
    """
    for place, line in enumerate(wanted):
        try:
            _check_line(line, has_key=has_key)
        except Conflict as error:
            if len(wanted) == 1:
                raise
            raise type(error)(errors={f"items.{place}": [error.detail]}) from None
        _check_price(place, line)
    if len(wanted) > 1 and not wanted[0].ticket_type.event.carts:
        raise OneTypeOnly
    if any(line.ticket_type.requires_ticket for line in wanted) and not _has_ticket(wanted):
        raise NeedsTicket
    possible = common_chains(wanted)
    # A free order is paid nowhere, so it suits every choice.
    if chain_id is not None and possible and chain_id not in possible:
        raise Invalid({"chain_id": [NOT_SOLD_THERE]})
    if max_amount is not None and lines.amount(wanted) > max_amount:
        raise OverMaxAmount


def common_chains(wanted: Sequence[Line]) -> Sequence[int]:
    """Return the chains on which all lines that cost something can be paid. NoCommonNetwork.

    Empty if all are free. The first is the one that the first line proposes, if all have it.

    Example: one line is sold on Base, Polygon and Arbitrum, another one on Arbitrum and Base. Base
    and Arbitrum remain.
    """
    priced = [line.ticket_type.chain_ids for line in wanted if line.unit_amount]
    if not priced:
        return ()
    shared = set(priced[0]).intersection(*priced[1:])
    common = [each for each in priced[0] if each in shared]
    if not common:
        raise NoCommonNetwork
    return common


def _check_line(line: Line, *, has_key: bool) -> None:
    ticket_type = line.ticket_type
    if ticket_type.status != Publication.PUBLISHED:
        raise NotFound("This ticket type does not exist.")
    if ticket_type.requires_key and not has_key:
        raise KeyRequired
    if ticket_type.require_voucher and not line.is_vouchered:
        raise VoucherRequired
    now = clock.now()
    if ticket_type.sales_start_at is not None and now < ticket_type.sales_start_at:
        raise SalesNotStarted
    if ticket_type.sales_end_at is not None and now >= ticket_type.sales_end_at:
        raise SalesEnded
    if now >= ticket_type.event.over_at:
        raise EventOver
    if line.quantity < ticket_type.min_per_order:
        raise BelowMinimum
    if line.quantity > ticket_type.max_per_order:
        raise AboveMaximum


def _check_price(place: int, line: Line) -> None:
    """Check the price that a buyer chose.

    It is nothing, the lowest price, or worth a transfer: an order for 1 micro-unit is not free, so
    the limits of free seats would not stop it.
    """
    chosen = line.wanted.price_amount
    if chosen is None:
        return
    least, most = line.least_amount, _most_of(line)
    is_sensible = chosen in (0, least) or chosen >= LEAST_FREE_PRICE
    if not (line.ticket_type.free_price and is_sensible and least <= chosen <= most):
        field = f"items.{place}.price_amount"
        raise Invalid({field: ["This price is not possible for this ticket type."]})


def _most_of(line: Line) -> int:
    most: int | None = line.ticket_type.max_price_amount
    return MAX_PRICE if most is None else most


def _has_ticket(wanted: Sequence[Line]) -> bool:
    """Return whether a seat of admission is among them that needs no other ticket itself."""
    return any(
        line.ticket_type.admission and not line.ticket_type.requires_ticket for line in wanted
    )
