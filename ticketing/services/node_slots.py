"""The slots of a process for requests that wait for nodes: a slow node blocks no others."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ticketing.constants import LOOKS_AT_ONCE
from ticketing.errors import NodesBusy

_slots = threading.BoundedSemaphore(LOOKS_AT_ONCE)
_taken: set[str] = set()
_guard = threading.Lock()


@contextmanager
def slot(subject: str) -> Iterator[None]:
    """Run a block that waits for a node, in one of the few slots for such requests.

    NodesBusy, at once, if there is none, or while another request waits for the same
    subject: an order or an account.
    """
    with _guard:
        if subject in _taken or not _slots.acquire(blocking=False):
            raise NodesBusy
        _taken.add(subject)
    try:
        yield
    finally:
        with _guard:
            _taken.discard(subject)
        _slots.release()
