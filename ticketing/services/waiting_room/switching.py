"""An organizer switches the waiting room of an event on or off."""

from __future__ import annotations

from ticketing import clock
from ticketing.models.events import Event
from ticketing.services.waiting_room import opening, seats
from ticketing.waiting_room import WaitingRoomMode


def switch(event: Event) -> None:
    """Open the room if it was switched on during the sale, close it if it was switched off.

    Before the sale it opens later, by itself.
    """
    if event.waiting_room == WaitingRoomMode.OFF:
        opening.close_room(event.id, event.tenant_id)
    elif event.waiting_room == WaitingRoomMode.ON:
        found = seats.of_event(event, clock.now())
        if found.unsold != 0:
            opening.open_room(event.id, event.tenant_id)
