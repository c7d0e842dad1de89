"""The turns of people who waited: each may order once, and one of a network at a time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from peewee import ModelInsert, ModelUpdate

from ticketing import clock
from ticketing.models.prepared import Prepared
from ticketing.models.waiting_rooms import WaitingRoomTurn
from ticketing.waiting_room import TURN_SECONDS

Turn = WaitingRoomTurn


@Prepared
def _end_old(event_id: Any, client: Any, now: Any) -> ModelUpdate:
    return Turn.update(used=True).where(
        Turn.event == event_id, Turn.client == client, ~Turn.used, Turn.ends_at <= now
    )


@Prepared
def _begin(event_id: Any, place: Any, client: Any, began: Any, ends_at: Any) -> ModelInsert:
    columns = {"place": place, "client": client, "began": began, "ends_at": ends_at, "used": False}
    return Turn.insert(event=event_id, **columns).on_conflict_ignore()


@Prepared
def _use(event_id: Any, place: Any, now: Any) -> ModelUpdate:
    return Turn.update(used=True).where(
        Turn.event == event_id, Turn.place == place, ~Turn.used, Turn.ends_at > now
    )


def begin(event_id: str, place_id: str, client: Sequence[str], at: int) -> int | None:
    """Begin the turn of a place. Return when it ends, in seconds since the Unix epoch.

    None if another place of this network has its turn, or if this one had its turn before.
    """
    now = clock.now()
    ends_at = now + timedelta(seconds=TURN_SECONDS)
    narrow = client[0]
    _end_old.run(event_id=event_id, client=narrow, now=now)
    begun = _begin.run(event_id=event_id, place=place_id, client=narrow, began=at, ends_at=ends_at)
    return int(ends_at.timestamp()) if begun == 1 else None


def use(event_id: str, place_id: str) -> bool:
    """End a turn with an order, in the transaction of the order. False if it had ended before."""
    return _use.run(event_id=event_id, place=place_id, now=clock.now()) == 1


def has_begun(event_id: str, place_id: str) -> bool:
    """Return whether a place has its turn, or had it."""
    return bool(Turn.select().where(Turn.event == event_id, Turn.place == place_id).exists())
