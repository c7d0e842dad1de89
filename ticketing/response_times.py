"""How fast this process answers, in the last seconds, and whether it is overloaded.

A response time counts from the moment when the request was complete: it includes the wait for a
thread. server/worker.py passes that wait in WAITED.
"""

import threading
from collections import deque
from typing import NamedTuple

from ticketing import clock

WAITED = "ticketing.waited"
"""The key of the WSGI environment: for how many seconds a request waited for a thread."""

WINDOW_SECONDS = 4
"""Response times of so many seconds count."""

QUICK_SECONDS, SLOW_SECONDS = 0.15, 0.3
"""A response that takes longer than the first is not quick, one that takes longer than both is
slow."""

LATE_SECONDS = 1.0
"""Requests that wait longer for a thread are late."""

OVERLOADED_SECONDS = 2.0
"""The process is overloaded if no thread was free for so long."""


class Counts(NamedTuple):
    """How many responses there were, how many were not quick, and how many were slow."""

    responses: int
    not_quick: int
    slow: int


class ResponseTimes:
    """Counts the response times of each second. Threads may share it.

    Example: all threads are busy for three seconds. The request that gets the next one has waited
    for 2.5 seconds, and no other one got a thread in time since: the process is overloaded.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seconds: deque[tuple[int, list[int]]] = deque(maxlen=WINDOW_SECONDS)
        self._busy_since: float | None = None
        self._late_at = 0.0

    def begin(self, waited: float, *, comes_first: bool) -> None:
        """Note how many seconds a request waited for its thread, which takes it now.

        `comes_first`: it did not wait in the line of those who want to buy.
        """
        now = clock.monotonic()
        if waited > LATE_SECONDS:
            self._late_at = now
            if self._busy_since is None:
                self._busy_since = now - waited
        elif not comes_first:
            self._busy_since = None

    def record(self, seconds: float) -> None:
        """Count a response, with the wait for its thread."""
        second = int(clock.monotonic())
        with self._lock:
            if not self._seconds or self._seconds[-1][0] != second:
                self._seconds.append((second, [0, 0, 0]))
            counts = self._seconds[-1][1]
            counts[0] += 1
            counts[1] += seconds > QUICK_SECONDS
            counts[2] += seconds > SLOW_SECONDS

    def counts(self) -> Counts:
        """Return the counts of the last seconds."""
        since = int(clock.monotonic()) - WINDOW_SECONDS
        with self._lock:
            recent = [counts for second, counts in self._seconds if second > since]
        sums = [sum(each) for each in zip(*recent, strict=True)]
        return Counts(*sums) if sums else Counts(0, 0, 0)

    @property
    def is_overloaded(self) -> bool:
        """Whether no thread was free for two seconds, until a moment ago."""
        now, busy_since = clock.monotonic(), self._busy_since
        if busy_since is None or now - self._late_at > LATE_SECONDS:
            return False
        return now - busy_since > OVERLOADED_SECONDS
