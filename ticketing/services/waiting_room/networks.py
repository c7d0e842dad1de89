"""Who waits in a room, by network, for its organizer."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from peewee import fn

from ticketing import clock
from ticketing.models.waiting_rooms import WaitingRoomNetwork, WaitingRoomTurn


def largest(event_id: str, most: int) -> dict[int, int]:
    """Return how many people were counted of the networks with most of them, by their number."""
    of = WaitingRoomNetwork
    rows = of.select(of.network, of.people).where(of.event == event_id)
    found: Any = rows.order_by(of.people.desc(), of.network).limit(most).tuples()
    return dict(found)


def people(event_id: str, numbers: Collection[int]) -> dict[int, int]:
    """Return how many people were counted of each of these networks."""
    of = WaitingRoomNetwork
    rows = of.select(of.network, of.people).where(
        of.event == event_id, of.network.in_(sorted(numbers))
    )
    found: Any = rows.tuples()
    return dict(found)


def turns(event_id: str) -> dict[str, int]:
    """Return how many turns each network has now, by its digest."""
    turn = WaitingRoomTurn
    going = turn.select(turn.site, fn.COUNT(turn.place)).where(
        turn.event == event_id, ~turn.used, turn.ends_at > clock.now()
    )
    found: Any = going.group_by(turn.site).tuples()
    return dict(found)


def barred(event_id: str) -> set[str]:
    """Return the marks of the networks whose people come after the others: see turns.bar_of."""
    turn = WaitingRoomTurn
    rows: Any = turn.select(turn.site).where(turn.event == event_id, turn.bars).tuples()
    return {site for (site,) in rows}
