"""How many pages of orders ask for news at the quick pace."""

import threading
import time

MINUTE_SECONDS = 60.0


class QuickPages:
    """Grants the quick pace to some pages a minute. Threads may share it.

    A page asks for it each time that it is shown, which a page that waits is once a minute. So few
    pages are all quick. When thousands wait at once, most ask at the usual pace.
    """

    def __init__(self, a_minute: int) -> None:
        self._a_minute = a_minute
        self._lock = threading.Lock()
        self._left = 0
        self._ends = 0.0

    def take(self) -> bool:
        """Return whether another page may be quick in this minute."""
        with self._lock:
            now = time.monotonic()
            if now >= self._ends:
                self._left, self._ends = self._a_minute, now + MINUTE_SECONDS
            self._left -= 1
            return self._left >= 0
