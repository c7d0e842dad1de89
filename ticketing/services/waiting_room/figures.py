"""What organizers see of a waiting room."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from ticketing.models.events import Event
from ticketing.models.waiting_rooms import WaitingRoom, WaitingRoomArrivals
from ticketing.services.waiting_room import opening
from ticketing.services.waiting_room.arrivals import Arrivals
from ticketing.services.waiting_room.places import SECOND
from ticketing.waiting_room import WaitingRoomMode, WaitReason


@dataclass(frozen=True)
class Figures:
    """A waiting room now. `waiting`: how many people, those included who have gone without a word.

    `wait_seconds`: what somebody who comes now has to expect. None: it is not known.
    """

    mode: WaitingRoomMode
    is_open: bool
    opened_at: datetime | None = None
    reason: WaitReason | None = None
    waiting: int = 0
    admitted_per_minute: int = 0
    wait_seconds: int | None = None


def of_event(event: Event) -> Figures:
    """Return the figures of the waiting room of an event."""
    mode = WaitingRoomMode(event.waiting_room)
    row = WaitingRoom.get_or_none(WaitingRoom.event == event.id)
    if row is None:
        return Figures(mode, is_open=False)
    state = opening.state_of(row)
    came = WaitingRoomArrivals
    since = state.admitted_until // SECOND
    rows = came.select(came.second, came.people).where(came.event == event.id, came.second >= since)
    arrivals = Arrivals((each.second, each.people) for each in rows.order_by(came.second))
    waiting = arrivals.total - arrivals.before(state.admitted_until)
    pace = state.called_per_minute or state.per_minute
    reason = WaitReason.HELD if state.held_since else WaitReason.QUEUE
    return Figures(
        mode,
        is_open=True,
        opened_at=datetime.fromtimestamp(state.opened / SECOND, UTC),
        reason=WaitReason.DRAW if state.is_draw else reason,
        waiting=waiting,
        admitted_per_minute=0 if state.is_draw else state.called_per_minute,
        wait_seconds=None if state.is_draw or state.held_since else 60 * waiting // pace,
    )
