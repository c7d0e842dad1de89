"""Decide whether a late transfer pays for an expired order.

It does if a new order at the time of the transfer would have succeeded: within a day, at list
prices that have not risen, while all its ticket types were on sale and the event not over, and with
enough seats of each. A voucher must give them for no more, and have enough usages left.
Otherwise a refund is due. The decision is made once for each transfer.

Example: Ada's order of 2 seats at 5 expired at 18:00. Her 10 arrive at 18:40. The order gets its
seats if 2 are left, they cost 5 or less now, and the sale was open at 18:40. If only 1 is left,
Ada is owed 10, also when more seats become free at 19:00.
"""

from collections.abc import Mapping
from datetime import datetime

from ticketing.constants import LATE_PAYMENT, LIVE, Publication
from ticketing.models.payment_intents import Item, PaymentIntent
from ticketing.models.payments import Payment
from ticketing.models.ticket_types import TicketType
from ticketing.services.orders import seats, vouchers


def take_seats(intent: PaymentIntent, transfer: Payment, chain_id: int) -> bool:
    """Hold the seats of a locked order again if `transfer` on a chain can pay for all of them.

    Return whether they are held. An order that lost its late payment still holds its seats.
    """
    if intent.status in LIVE:
        # It was honoured before, and holds its seats for the grace time. To hold them again would
        # count them twice. The event's stock is locked first, as everywhere: it may change next.
        return _may_buy(intent, seats.locked_types(intent), transfer.block_time, chain_id)
    # Hold first, then judge: the hold locks the ticket types, so no price can change meanwhile.
    held = seats.hold(seats.of_intent(intent), transfer.block_time)
    if isinstance(held, seats.Missing):
        return False
    if _may_buy(intent, held, transfer.block_time, chain_id):
        return True
    seats.release(intent)
    return False


def _may_buy(
    intent: PaymentIntent, types: Mapping[str, TicketType], paid_at: datetime, chain_id: int
) -> bool:
    """Return whether all ticket types were on sale at `paid_at`, and no list price has risen."""
    event = intent.event
    return (
        event.status == Publication.PUBLISHED
        and paid_at <= intent.ended_at + LATE_PAYMENT
        and paid_at < event.over_at
        and all(
            _is_on_sale(intent, item, types[item.ticket_type_id], paid_at, chain_id)
            for item in intent.items
        )
    )


def _is_on_sale(
    intent: PaymentIntent,
    item: Item,
    ticket_type: TicketType,
    paid_at: datetime,
    chain_id: int,
) -> bool:
    starts, ends = ticket_type.sales_start_at, ticket_type.sales_end_at
    return (
        ticket_type.status == Publication.PUBLISHED
        and (starts is None or starts <= paid_at)
        and (ends is None or paid_at < ends)
        and ticket_type.price_amount <= item.list_amount
        and (item.unit_amount == 0 or chain_id in ticket_type.chain_ids)
        and _still_costs(intent, item, ticket_type, paid_at)
    )


def _still_costs(
    intent: PaymentIntent, item: Item, ticket_type: TicketType, paid_at: datetime
) -> bool:
    """Return whether the order's voucher, if the item uses it, gave no less at `paid_at`."""
    voucher = intent.voucher if item.vouchered else None
    return voucher is None or vouchers.still_gives(voucher, item, ticket_type, paid_at)
