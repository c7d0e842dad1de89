"""An organizer switches the waiting room of an event on or off."""

from __future__ import annotations

from ticketing import clock
from ticketing.models.events import Event
from ticketing.services.waiting_room import opening, seats
from ticketing.waiting_room import WaitingRoomMode


def switch(event: Event, mode: str) -> None:
    """Open the room if it is switched on during the sale, close it if it is switched off.

    Before the sale it opens later, by itself. Call it before anything of the event is locked but
    its row.
    """
    if mode == WaitingRoomMode.OFF:
        opening.close_room(event.id, event.tenant_id)
    elif mode == WaitingRoomMode.ON:
        found = seats.of_event(event, clock.now())
        if found.unsold != 0:
            opening.open_room(event.id, event.tenant_id)
