"""How many people came to a waiting room, by second, and how many of them are before a place."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from itertools import accumulate

from ticketing.services.waiting_room.places import SECOND


class Arrivals:
    """People by the second of their arrival. Lots spread those of one second evenly over it.

    Example: 100 came in second 5, and 10 in second 6. Before the position 5,300,000 are 30, before
    6,500,000 are 105. The position that 50 are before is 5,500,000.
    """

    def __init__(self, people: Iterable[tuple[int, int]]) -> None:
        """`people`: how many came in each second, the earliest first."""
        counted = list(people)
        self._seconds = [second for second, _ in counted]
        self._sums = list(accumulate((number for _, number in counted), initial=0))

    @property
    def total(self) -> int:
        """How many people."""
        return self._sums[-1]

    def before(self, position: int) -> int:
        """Return how many are before a position."""
        second, part = divmod(position, SECOND)
        index = bisect_left(self._seconds, second)
        if index == len(self._seconds) or self._seconds[index] != second:
            return self._sums[index]
        people = self._sums[index + 1] - self._sums[index]
        return self._sums[index] + people * part // SECOND

    def position_after(self, number: int) -> int | None:
        """Return the position that `number` people are before. None if fewer came."""
        if number > self.total:
            return None
        if number <= 0:
            return 0
        index = bisect_left(self._sums, number) - 1
        people = self._sums[index + 1] - self._sums[index]
        part = -(-(number - self._sums[index]) * SECOND // people)
        return self._seconds[index] * SECOND + part
