"""How many requests of one process may wait for nodes: a node that hangs must not stop the rest."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ticketing.constants import LOOKS_AT_ONCE

_places = threading.BoundedSemaphore(LOOKS_AT_ONCE)
_taken: set[str] = set()
_guard = threading.Lock()


@contextmanager
def place(subject: str) -> Iterator[bool]:
    """Take one of the few places for requests that wait for a node; yield whether there was one.

    There is none while another request waits for the same subject, an order or an account.
    """
    with _guard:
        taken = subject not in _taken and _places.acquire(blocking=False)
        if taken:
            _taken.add(subject)
    try:
        yield taken
    finally:
        if taken:
            with _guard:
                _taken.discard(subject)
            _places.release()
