"""Open and close the waiting room of an event. Events say whether theirs is open."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import datetime

from ticketing import clock
from ticketing.db.connection import write_transaction
from ticketing.models.events import Event
from ticketing.models.waiting_rooms import (
    WaitingRoom,
    WaitingRoomArrivals,
    WaitingRoomNetwork,
    WaitingRoomProcess,
    WaitingRoomTurn,
)
from ticketing.services import catalog_version
from ticketing.services.waiting_room import admitting, seats
from ticketing.services.waiting_room.admitting import State
from ticketing.services.waiting_room.places import SECOND
from ticketing.waiting_room import WaitingRoomMode


def microseconds(moment: datetime) -> int:
    """Return a time as microseconds since the Unix epoch."""
    return int(moment.timestamp() * SECOND)


def open_room(event_id: str, tenant_id: str, sale_starts: datetime | None = None) -> bool:
    """Open the room of an event. False if it is open. `sale_starts`: nobody is admitted before."""
    starts = None if sale_starts is None else microseconds(sale_starts)
    state = admitting.opened(microseconds(clock.now()), starts)
    with write_transaction():
        closed = Event.id == event_id, ~Event.is_queueing
        if Event.update(is_queueing=True).where(*closed).execute() != 1:
            return False
        _clear(event_id)  # a process may have written something while the room closed
        WaitingRoom.insert(event=event_id, **columns(state)).execute()
        # Processes that show the event's page from memory have to notice.
        catalog_version.advance(tenant_id)
    return True


_MODELS = (
    WaitingRoom,
    WaitingRoomTurn,
    WaitingRoomProcess,
    WaitingRoomNetwork,
    WaitingRoomArrivals,
)


class _Moved(Exception):
    """The room is not as it was any more."""


def close_room(event_id: str, tenant_id: str, as_of: State | None = None) -> None:
    """Close the room of an event, if it is open. Everybody may order then.

    `as_of`: only if no process has moved it since.
    """
    is_open = Event.id == event_id, Event.is_queueing
    same = [WaitingRoom.event == event_id]
    if as_of is not None:
        same += [WaitingRoom.opened == as_of.opened, WaitingRoom.at == as_of.at]
    with suppress(_Moved), write_transaction():
        if Event.update(is_queueing=False).where(*is_open).execute() != 1:
            return
        if WaitingRoom.delete().where(*same).execute() != 1:
            raise _Moved  # the event stays as it was
        _clear(event_id)
        catalog_version.advance(tenant_id)


def _clear(event_id: str) -> None:
    # The room first: a process that writes holds its lock.
    for model in _MODELS:
        model.delete().where(model.event == event_id).execute()


def columns(state: State) -> dict[str, object]:
    """Return the columns of a room in this state."""
    return {**vars(state), "called": json.dumps(state.called)}


def state_of(row: WaitingRoom) -> State:
    """Return the state that a row has."""
    given = {name: getattr(row, name) for name in State.__dataclass_fields__}
    return State(**{**given, "called": tuple(json.loads(row.called))})


def switch(event: Event, mode: str) -> None:
    """Open the room if it is switched on during the sale, close it if it is switched off.

    Before the sale it opens later, by itself. Call it before anything of the event is locked but
    its row.
    """
    if mode == WaitingRoomMode.OFF:
        close_room(event.id, event.tenant_id)
    elif mode == WaitingRoomMode.ON:
        found = seats.of_event(event, clock.now())
        if found.unsold != 0:
            open_room(event.id, event.tenant_id)
