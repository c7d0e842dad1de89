"""The turns of people who waited: each may order once, and few of a network at a time.

Example: 1,000 seats are unsold when the room opens, and an order has at most 10. A network may have
50 of them, so five of its people have their turn at a time. While others wait, 20 turns of it may
end. Then its people come after the others. An IPv6 /48 has three times as many.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import timedelta
from enum import Enum, auto
from typing import Any, NamedTuple

from peewee import JOIN, Case, ModelInsert, ModelSelect, ModelUpdate, fn

from ticketing import clock
from ticketing.constants import UNPAID_SHARE_PERCENT
from ticketing.db.connection import one_at_a_time, write_transaction
from ticketing.limits import (
    IDLE_TURN_SECONDS,
    TURNS_AT_A_TIME,
    USED_TURNS_LEAST,
    USED_TURNS_PERCENT,
    WIDE_FACTOR,
)
from ticketing.models.base import UtcDateTimeField
from ticketing.models.prepared import KEPT_LENGTH, Prepared
from ticketing.models.waiting_rooms import WaitingRoom, WaitingRoomTurn
from ticketing.services.waiting_room.places import SECOND
from ticketing.waiting_room import TURN_SECONDS

IDLE = IDLE_TURN_SECONDS * SECOND
SEEN_AGAIN = 10 * SECOND
"""The time of a request is written if the one that is known is older."""

UNLIMITED = 2**31 - 1

Turn = WaitingRoomTurn

_instant: Callable[[Any], Any] = UtcDateTimeField().python_value


class Refusal(Enum):
    """Why a turn cannot begin.

    `NEIGHBOR`: as many of the network as may have theirs. `ENDED`: this place had its turn.
    `AFTER_OTHERS`: many turns of the network have ended, and others wait.
    """

    NEIGHBOR = auto()
    ENDED = auto()
    AFTER_OTHERS = auto()


class Most(NamedTuple):
    """How many turns a network may have at a time, and how many may have ended."""

    at_a_time: int
    used: int


class _Turns(NamedTuple):
    """The turns of a wide network and of a narrow one in it. `going`: at the moment.

    `bars`: whether its organizer lets it come after the others (networks.py).
    """

    going: int
    going_narrow: int
    ended: int
    ended_narrow: int
    bars: int

    def refusal(self, most: Most) -> Refusal | None:
        """Return why none of them may begin."""
        if self.bars and most.used != UNLIMITED:
            return Refusal.AFTER_OTHERS
        if self.ended_narrow >= most.used or self.ended >= WIDE_FACTOR * most.used:
            return Refusal.AFTER_OTHERS
        is_full = self.going_narrow >= most.at_a_time or self.going >= WIDE_FACTOR * most.at_a_time
        return Refusal.NEIGHBOR if is_full else None


def at_a_time(unsold: int | None, max_per_order: int) -> int:
    """Return how many people of a network may have their turn, with so many unsold seats.

    A network has a share of them: see client_limits.check_share. `unsold`: None: unlimited.
    """
    if unsold is None:
        return TURNS_AT_A_TIME
    share = unsold * UNPAID_SHARE_PERCENT // 100
    return min(max(1, share // max_per_order), TURNS_AT_A_TIME)


def used(unsold: int | None) -> int:
    """Return how many turns of a network may end while others wait. None: unlimited."""
    if unsold is None:
        return UNLIMITED
    return max(USED_TURNS_LEAST, unsold * USED_TURNS_PERCENT // 100)


@Prepared
def _turns(
    event_id: Any, opened: Any, client: Any, site: Any, bar: Any, since: Any, now: Any
) -> ModelSelect[WaitingRoom]:
    room = WaitingRoom
    has_ended = ~Turn.bars & (Turn.used | (Turn.ends_at <= now))
    is_going = ~Turn.used & (Turn.ends_at > now) & (Turn.seen > since)
    is_narrow = Turn.client == client
    kinds = (is_going, is_going & is_narrow, has_ended, has_ended & is_narrow, Turn.bars)
    sums = [fn.SUM(Case(None, [(each, 1)], 0)) for each in kinds]
    of_site = (Turn.event == room.event) & Turn.site.in_((site, bar))
    return (
        room.select(room.opened, *sums)
        .join(Turn, JOIN.LEFT_OUTER, on=of_site)
        .where(room.event == event_id, room.opened == opened)
        .group_by(room.opened)
    )


@Prepared
def _begin(
    event_id: Any, place: Any, client: Any, site: Any, at: Any, ends_at: Any, now: Any
) -> ModelInsert:
    columns = {"place": place, "client": client, "site": site, "ends_at": ends_at}
    return (
        Turn.insert(event=event_id, used=False, began=at, seen=at, **columns)
        .on_conflict(
            conflict_target=[Turn.event, Turn.place],
            update={Turn.seen: at},
            where=~Turn.used & (Turn.ends_at > now),
        )
        .returning(Turn.ends_at)
    )


@Prepared
def _use(event_id: Any, place: Any, now: Any, since: Any) -> ModelUpdate:
    return Turn.update(used=True).where(
        Turn.event == event_id,
        Turn.place == place,
        ~Turn.used,
        Turn.ends_at > now,
        Turn.seen > since,
    )


@Prepared
def _see(event_id: Any, places: Any, at: Any, since: Any) -> ModelUpdate:
    return Turn.update(seen=at).where(
        Turn.event == event_id, Turn.place.in_(places), ~Turn.used, Turn.seen <= since
    )


def begin(
    event_id: str,
    place_id: str,
    client: Sequence[str],
    most: Most,
    *,
    network: int,
    opened: int,
    at: int,
) -> int | Refusal:
    """Begin the turn of a place, or go on with it. Return when it ends, in seconds since 1970.

    A repeat changes nothing: two tabs may ask at the same moment. A turn in which nobody asked for
    two minutes is given to others of the network. It goes on if one of theirs ends.

    `client`: digests of the networks, from narrow to wide. `network`: with this number, the room
    counts the wide one. `opened`: of the room that called them.
    """
    now = clock.now()
    of_network = {
        "event_id": event_id,
        "opened": opened,
        "client": client[0],
        "site": client[-1],
        "bar": bar_of(network),
        "since": at - IDLE,
        "now": now,
    }
    # Most of those who cannot begin wait for neighbors: they need no lock.
    refusal = _refusal(of_network, most) or _begin_or_refuse(of_network, place_id, most, at)
    if not isinstance(refusal, Refusal):
        return refusal
    own = Turn.get_or_none(Turn.event == event_id, Turn.place == place_id)
    if own is None:
        return refusal
    if own.used or own.ends_at <= now:
        return Refusal.ENDED
    return int(own.ends_at.timestamp()) if own.seen > at - IDLE else Refusal.NEIGHBOR


def _begin_or_refuse(
    of_network: dict[str, Any], place_id: str, most: Most, at: int
) -> int | Refusal:
    event_id, site, now = (of_network[each] for each in ("event_id", "site", "now"))
    with write_transaction():
        one_at_a_time(f"turns of {site}")
        refusal = _refusal(of_network, most)
        if refusal is not None:
            return refusal
        begun = _begin.tuples(
            event_id=event_id,
            place=place_id,
            client=of_network["client"],
            site=site,
            at=at,
            ends_at=now + timedelta(seconds=TURN_SECONDS),
            now=now,
        )
    return int(_instant(begun[0][0]).timestamp()) if begun else Refusal.ENDED


def _refusal(of_network: dict[str, Any], most: Most) -> Refusal | None:
    rows = _turns.tuples(**of_network)
    if not rows:
        return Refusal.NEIGHBOR  # it has closed since this process looked
    _, *counts = rows[0]
    return _Turns(*map(int, counts)).refusal(most)


def use(event_id: str, place_id: str, at: int) -> bool:
    """End a turn with an order, in the transaction of the order.

    False if it had ended before, or if it is idle, so others of the network may have theirs.
    """
    return _use.run(event_id=event_id, place=place_id, now=clock.now(), since=at - IDLE) == 1


def bar_of(network: int) -> str:
    """Return what stands for a network, by its number in the room, in the marks of organizers."""
    return f"n{network}"


def bar(event_id: str, network: int, sites: Collection[str]) -> int:
    """Let the people of a network come after the others while these wait. End their turns.

    `network`: its number in the room, and `sites`: its digests. Return how many turns have ended.
    It lasts until the room closes. Nothing happens if none is open.
    """
    with write_transaction():
        if not WaitingRoom.select().where(WaitingRoom.event == event_id).exists():
            return 0
        mark = bar_of(network)
        columns = {"place": mark, "client": mark, "site": mark, "began": 0, "used": True}
        Turn.insert(
            event=event_id, ends_at=clock.now(), bars=True, **columns
        ).on_conflict_ignore().execute()
        going = Turn.update(used=True).where(
            Turn.event == event_id, Turn.site.in_(list(sites)), ~Turn.used
        )
        return int(going.execute())


def see(event_id: str, place_ids: Collection[str], at: int) -> None:
    """Write that people have asked for something in their turns."""
    ordered = sorted(place_ids)
    for first in range(0, len(ordered), KEPT_LENGTH):
        some = tuple(ordered[first : first + KEPT_LENGTH])
        _see.run(event_id=event_id, places=some, at=at, since=at - SEEN_AGAIN)
