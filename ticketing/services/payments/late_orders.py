"""Decide whether a late transfer pays for an expired order.

It does if a new order at the time of the transfer would have succeeded: within a day, at a price
that has not risen, while the ticket type was on sale and the event not over, and with enough seats.
Otherwise a refund is due. The decision is made once for each transfer.

Example: Ada's order of 2 seats at 5 expired at 18:00. Her 10 arrive at 18:40. The order gets its
seats if 2 are left, they cost 5 or less now, and the sale was open at 18:40. If only 1 is left,
Ada is owed 10, also when more seats become free at 19:00.
"""

from datetime import datetime

from ticketing.constants import LATE_PAYMENT, LIVE, Publication
from ticketing.db.connection import locked
from ticketing.models.payment_intents import Payment, PaymentIntent
from ticketing.models.ticket_types import EventStock, TicketType
from ticketing.services.orders import stock


def take_seats(intent: PaymentIntent, transfer: Payment) -> bool:
    """Hold the seats of a locked order again if `transfer` can still pay for them.

    Return whether they are held. An order that lost its late payment still holds its seats.
    """
    if intent.status in LIVE:
        # It was honoured before, and holds its seats for the grace time. To hold them again would
        # count them twice. The event's stock is locked first, as everywhere: it may change next.
        list(locked(EventStock.select().where(EventStock.event == intent.event_id)))
        ticket_type = locked(
            TicketType.select().where(TicketType.id == intent.ticket_type_id)
        ).get()
        return _may_buy(intent, ticket_type, transfer.block_time)
    capped_event = intent.capped_event
    if capped_event is not None and stock.hold_of_event(capped_event, intent.quantity) is None:
        return False
    # Hold first, then judge: the hold locks the ticket type, so its price cannot change meanwhile.
    held = stock.hold(intent.ticket_type_id, intent.quantity)
    if held is None:
        if capped_event is not None:
            stock.release_of_event(capped_event, intent.quantity)
        return False
    if _may_buy(intent, held, transfer.block_time):
        return True
    stock.release(intent.ticket_type_id, intent.quantity, capped_event)
    return False


def _may_buy(intent: PaymentIntent, ticket_type: TicketType, paid_at: datetime) -> bool:
    """Return whether the ticket type was on sale at `paid_at`, and its price has not risen."""
    event = ticket_type.event
    starts, ends = ticket_type.sales_start_at, ticket_type.sales_end_at
    return (
        Publication.PUBLISHED == ticket_type.status == event.status
        and paid_at <= intent.ended_at + LATE_PAYMENT
        and paid_at < event.over_at
        and (starts is None or starts <= paid_at)
        and (ends is None or paid_at < ends)
        and ticket_type.price_amount <= intent.unit_amount
        and ticket_type.chain_id == intent.chain_id
    )
