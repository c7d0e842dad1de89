"""Who is counted of those who come: few people of each network, over all processes.

Whoever is not counted has a place all the same. So a network that sends many requests adds few
people who do not exist, and many people behind one address wait no longer.

Example: 300 people of a lecture hall and 4,000 requests of one IPv6 /48 come before the sale. Five
people are counted of each. After its start, a program that keeps no token asks every second, at two
processes. It is counted six times a minute.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from peewee import EXCLUDED, ModelInsert

from ticketing.limits import COUNTED_AGAIN_SECONDS, COUNTED_BEFORE_SALE
from ticketing.models.prepared import KEPT_LENGTH, Prepared
from ticketing.models.waiting_rooms import WaitingRoomArrivals, WaitingRoomNetwork

MOST_NETWORKS = 2_000
"""How many networks a process remembers between two looks at the database: more than it answers."""


class Newcomers:
    """Who came to this process since the last look, and may be counted. Not for several threads.

    `seconds`: how many people, by the second of their arrival. `of_network`: the second of the
    first one, and how many, by network.
    """

    def __init__(self) -> None:
        self.seconds: Counter[int] = Counter()
        self.of_network: dict[int, tuple[int, int]] = {}

    def add(self, network: int, second: int, *, is_draw: bool) -> None:
        """Add a person of a network, unless enough of it have come since the last look."""
        known = self.of_network.get(network)
        if known is None:
            if len(self.of_network) < MOST_NETWORKS:
                self._put(network, second, 1)
        elif is_draw and known[1] < COUNTED_BEFORE_SALE:
            self._put(network, known[0], known[1] + 1)

    def give_back(self, others: Newcomers) -> None:
        """Add those who could not be written."""
        for network, (second, people) in others.of_network.items():
            if network not in self.of_network:
                self.of_network[network] = second, people
                self.seconds[second] += people

    def write(self, event_id: str, now: int, *, is_draw: bool) -> None:
        """Count those who come within the limit of their network, in a transaction.

        `now`: the second of the room. The networks come in one order, so that two processes do not
        wait for each other.
        """
        most = COUNTED_BEFORE_SALE if is_draw else 0
        since = -1 if is_draw else now - COUNTED_AGAIN_SECONDS
        counted: Counter[int] = Counter()
        left = self.of_network
        while left:
            numbers = sorted(left)
            for first in range(0, len(numbers), KEPT_LENGTH):
                some = tuple(numbers[first : first + KEPT_LENGTH])
                rows = _count.tuples(
                    event_id=event_id, networks=some, now=now, most=most, since=since
                )
                counted.update(left[network][0] for (network,) in rows)
            left = {
                network: (second, people - 1)
                for network, (second, people) in left.items()
                if people > 1
            }
        for second, people in sorted(counted.items()):
            _add_arrivals.run(event_id=event_id, second=second, people=people)

    def _put(self, network: int, second: int, people: int) -> None:
        self.of_network[network] = second, people
        self.seconds[second] += 1


@Prepared
def _count(event_id: Any, networks: Any, now: Any, most: Any, since: Any) -> ModelInsert:
    of = WaitingRoomNetwork
    rows = [
        {of.event: event_id, of.network: each, of.people: 1, of.counted_at: now}
        for each in networks
    ]
    return (
        of.insert_many(rows)
        .on_conflict(
            conflict_target=[of.event, of.network],
            update={of.people: of.people + 1, of.counted_at: EXCLUDED.counted_at},
            where=(of.people < most) | (of.counted_at <= since),
        )
        .returning(of.network)
    )


@Prepared
def _add_arrivals(event_id: Any, second: Any, people: Any) -> ModelInsert:
    came = WaitingRoomArrivals
    return came.insert(event=event_id, second=second, people=people).on_conflict(
        conflict_target=[came.event, came.second], update={came.people: came.people + people}
    )
