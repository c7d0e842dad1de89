"""How long to wait after failures: a schedule of pauses. It has no clock and no state.

    >>> deliveries = Backoff((timedelta(seconds=5), timedelta(minutes=1), timedelta(minutes=15)))
    >>> [deliveries.pause(failures).total_seconds() for failures in (0, 1, 2, 3, 4)]
    [0.0, 5.0, 60.0, 900.0, 900.0]
    >>> node = Backoff.doubling(timedelta(seconds=1), timedelta(seconds=60))
    >>> [node.pause(failures).total_seconds() for failures in (1, 2, 3, 6, 7, 8)]
    [1.0, 2.0, 4.0, 32.0, 60.0, 60.0]

The caller counts the failures in a row, and knows when the last one was.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True)
class Backoff:
    """Pauses after the first failure, the second, and so on. The last one is repeated.

    `jitter` is the part of the last pause by which it varies, so that not all retry at once.
    """

    pauses: Sequence[timedelta]
    jitter: float = 0.0

    @classmethod
    def doubling(cls, first: timedelta, longest: timedelta) -> Backoff:
        """Return a schedule whose pauses double from `first`, above 0, up to `longest`."""
        pauses = [first]
        while pauses[-1] < longest:
            pauses.append(min(2 * pauses[-1], longest))
        return cls(pauses)

    def pause(self, failures: int) -> timedelta:
        """Return how long to wait after this many failures in a row. No time after none."""
        if failures == 0:
            return timedelta(0)
        if failures < len(self.pauses):
            return self.pauses[failures - 1]
        return self.pauses[-1] * random.uniform(1 - self.jitter, 1 + self.jitter)
