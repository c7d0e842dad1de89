"""The queue of requests that wait for a thread: two priorities."""

import threading
from collections import deque

from ticketing.server.connection import Connection

_TURNS = 4


class RequestQueue:
    """Connections with a complete request, in two lines: those that come first, and the others.

    Of four threads that become free, three take from the first line and one from the second, if
    both lines wait. So neither stops. The loop adds requests, and threads take them.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._first: deque[Connection] = deque()
        self._second: deque[Connection] = deque()
        self._turn = 0

    def add(self, conn: Connection, *, first: bool) -> None:
        """Add a connection with a complete request to the end of a line."""
        with self._lock:
            (self._first if first else self._second).append(conn)

    def take(self) -> Connection | None:
        """Remove and return the connection whose turn it is. None if none waits."""
        with self._lock:
            self._turn = (self._turn + 1) % _TURNS
            lines = (self._first, self._second) if self._turn else (self._second, self._first)
            line = next((line for line in lines if line), None)
            return None if line is None else line.popleft()

    def take_late(self, queued_before: float) -> list[Connection]:
        """Remove and return the connections that were queued before a time (time.monotonic)."""
        late = []
        with self._lock:
            for line in (self._first, self._second):
                while line and line[0].queued_at <= queued_before:
                    late.append(line.popleft())
        return late
