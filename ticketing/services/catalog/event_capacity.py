"""The capacity of an event: a limit over all its ticket types.

`events.capacity` and a row in `event_stock` exist together. The row counts what is held and sold.
"""

from ticketing.errors import CapacityTooLow
from ticketing.models.events import Event
from ticketing.models.ticket_types import EventStock, TicketType
from ticketing.services.orders import stock
from ticketing.services.payments import sale_locks


def start(event: Event) -> None:
    """Count the stock of a new event, if it has a capacity."""
    if event.capacity is not None:
        EventStock.create(event=event, capacity=event.capacity, held=0, sold=0)


def change(event: Event, capacity: int | None) -> None:
    """Set the capacity of a locked event, or remove it (None). CapacityTooLow.

    Call it before other locks are taken. Orders wait while a capacity is added or removed.
    """
    if capacity == event.capacity:
        return
    if capacity is not None and event.capacity is not None:
        fits = EventStock.held + EventStock.sold <= capacity
        changed = EventStock.update(capacity=capacity).where(EventStock.event == event, fits)
        if changed.execute() != 1:
            raise CapacityTooLow
    else:
        sale_locks.lock_sale(TicketType.event == event)
        EventStock.delete().where(EventStock.event == event).execute()
        if capacity is not None:
            held, sold, waiting = stock.totals(event.id)
            if held + sold > capacity:
                raise CapacityTooLow
            EventStock.create(event=event, capacity=capacity, held=held, sold=sold, waiting=waiting)
        stock.note_change_of_event(event.id)
    event.capacity = capacity
