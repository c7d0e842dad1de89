"""The turns of people who waited: each may order once, and one of a network at a time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from peewee import ModelInsert, ModelSelect, ModelUpdate, fn

from ticketing import clock
from ticketing.db.connection import write_transaction
from ticketing.limits import WIDE_FACTOR
from ticketing.models.prepared import Prepared
from ticketing.models.waiting_rooms import WaitingRoom, WaitingRoomTurn
from ticketing.waiting_room import TURN_SECONDS

Turn = WaitingRoomTurn


@Prepared
def _end_old(event_id: Any, client: Any, now: Any) -> ModelUpdate:
    return Turn.update(used=True).where(
        Turn.event == event_id, Turn.client == client, ~Turn.used, Turn.ends_at <= now
    )


@Prepared
def _open_of_site(event_id: Any, site: Any, now: Any) -> ModelSelect[Turn]:
    of_site = Turn.event == event_id, Turn.site == site
    return Turn.select(fn.COUNT(Turn.place)).where(*of_site, ~Turn.used, Turn.ends_at > now)


@Prepared
def _is_open(event_id: Any, opened: Any) -> ModelSelect[WaitingRoom]:
    return WaitingRoom.select(WaitingRoom.at).where(
        WaitingRoom.event == event_id, WaitingRoom.opened == opened
    )


@Prepared
def _begin(
    event_id: Any, place: Any, client: Any, site: Any, began: Any, ends_at: Any
) -> ModelInsert:
    columns = {"place": place, "client": client, "site": site, "began": began, "ends_at": ends_at}
    return Turn.insert(event=event_id, used=False, **columns).on_conflict_ignore()


@Prepared
def _use(event_id: Any, place: Any, now: Any) -> ModelUpdate:
    return Turn.update(used=True).where(
        Turn.event == event_id, Turn.place == place, ~Turn.used, Turn.ends_at > now
    )


def begin(
    event_id: str, place_id: str, client: Sequence[str], *, opened: int, at: int
) -> int | None:
    """Begin the turn of a place, or go on with it. Return when it ends, in seconds since 1970.

    None if another place of this network has its turn, or if this one had its turn before. A repeat
    changes nothing: two tabs may ask at the same moment. A wide network, of IPv6, may have as many
    turns at a time as limits are wider for it.

    `client`: digests of the networks, from narrow to wide. `opened`: of the room that called them.
    """
    now = clock.now()
    ends_at = now + timedelta(seconds=TURN_SECONDS)
    narrow, site = client[0], client[-1]
    if not _is_open.tuples(event_id=event_id, opened=opened):
        return None  # it has closed since this process looked
    with write_transaction():
        _end_old.run(event_id=event_id, client=narrow, now=now)
        begun = 0
        if site == narrow or _turns_of(event_id, site, now) < WIDE_FACTOR:
            begun = _begin.run(
                event_id=event_id,
                place=place_id,
                client=narrow,
                site=site,
                began=at,
                ends_at=ends_at,
            )
    if begun == 1:
        return int(ends_at.timestamp())
    own = Turn.get_or_none(Turn.event == event_id, Turn.place == place_id)
    if own is None or own.used or own.ends_at <= now:
        return None
    return int(own.ends_at.timestamp())


def use(event_id: str, place_id: str) -> bool:
    """End a turn with an order, in the transaction of the order. False if it had ended before."""
    return _use.run(event_id=event_id, place=place_id, now=clock.now()) == 1


def has_begun(event_id: str, place_id: str) -> bool:
    """Return whether a place has its turn, or had it before."""
    return bool(Turn.select().where(Turn.event == event_id, Turn.place == place_id).exists())


def _turns_of(event_id: str, site: str, now: datetime) -> int:
    ((turns,),) = _open_of_site.tuples(event_id=event_id, site=site, now=now)
    return int(turns)
