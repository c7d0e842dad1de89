"""How fast this process answers, of the last seconds, and whether it is overloaded.

A response time counts from the moment when the request was complete: it includes the wait for a
thread. server/worker.py passes that wait in WAITED.
"""

import threading
from bisect import bisect_left
from collections import deque

from ticketing import clock

WAITED = "ticketing.waited"
"""The key of the WSGI environment: for how many seconds a request waited for a thread."""

WINDOW_SECONDS = 4
"""Response times of so many seconds count."""

LATE_SECONDS = 1.0
"""Requests that wait longer for a thread are late."""

OVERLOADED_SECONDS = 2.0
"""The process is overloaded if no request was in time for so long."""

_BOUNDS_MS = [5, 10, 20, 30, 50, 75, 100, 150, 200, 250, 300, 400, 500, 750]
_BOUNDS_MS += [1_000, 1_500, 2_000, 3_000, 5_000, 10_000]


class ResponseTimes:
    """Counts the response times of each second. Threads may share it.

    Example: all threads are busy for three seconds. The requests that get one then have waited for
    2 seconds, and nobody else got one since: the process is overloaded.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seconds: deque[tuple[int, list[int]]] = deque(maxlen=WINDOW_SECONDS)
        self._in_time_at = self._late_at = clock.monotonic()

    def begin(self, waited: float, *, comes_first: bool) -> None:
        """Note how many seconds a request waited for its thread, which takes it now.

        `comes_first`: it did not wait in the line of those who want to buy.
        """
        if waited > LATE_SECONDS:
            self._late_at = clock.monotonic()
        elif not comes_first:
            self._in_time_at = clock.monotonic()

    def record(self, seconds: float) -> None:
        """Count a response, with the wait for its thread."""
        index = bisect_left(_BOUNDS_MS, seconds * 1000)
        with self._lock:
            self._counts(int(clock.monotonic()))[index] += 1

    def p99_ms(self) -> int:
        """Return what 99 of 100 responses of the last seconds did not exceed. 0: there are none."""
        since = int(clock.monotonic()) - WINDOW_SECONDS
        with self._lock:
            recent = [counts for second, counts in self._seconds if second > since]
            totals = [sum(each) for each in zip(*recent, strict=True)]
        slowest = sum(totals) // 100
        for index in reversed(range(len(totals))):
            if totals[index] > slowest:
                return _BOUNDS_MS[min(index, len(_BOUNDS_MS) - 1)]
            slowest -= totals[index]
        return 0

    @property
    def is_overloaded(self) -> bool:
        """Whether all requests of the last two seconds waited too long for a thread."""
        now = clock.monotonic()
        is_late = now - self._late_at < LATE_SECONDS
        return is_late and now - self._in_time_at > OVERLOADED_SECONDS

    def _counts(self, second: int) -> list[int]:
        if not self._seconds or self._seconds[-1][0] != second:
            self._seconds.append((second, [0] * (len(_BOUNDS_MS) + 1)))
        return self._seconds[-1][1]
