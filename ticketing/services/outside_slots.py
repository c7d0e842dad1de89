"""The slots of a process for requests that wait for somebody else: a slow one blocks no others.

Nodes, facilitators of x402, an upload that waits for another one: whatever a thread of the web
waits for, it takes a slot, and there are half as many slots as threads. So half of the threads
always answer the others. The worker has threads of its own, and needs no slots.

Example, with four threads and two slots: two requests wait for a node that says nothing. A third
one that needs a node gets 503 at once, and pages are answered as before.
"""

import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from ticketing.constants import LOOKS_AT_ONCE
from ticketing.errors import Unavailable

_slots = threading.BoundedSemaphore(LOOKS_AT_ONCE)
_taken: set[str] = set()
_guard = threading.Lock()


@contextmanager
def slot(names: Collection[str], busy: type[Unavailable]) -> Iterator[None]:
    """Run a block that waits for somebody else, in one of the slots of the process.

    `names` may wait once each: for what is waited, and who waits. The error `busy`, at once, if
    there is no slot, or while another request waits under one of the names.
    """
    with _guard:
        if not _taken.isdisjoint(names) or not _slots.acquire(blocking=False):
            raise busy
        _taken.update(names)
    try:
        yield
    finally:
        with _guard:
            _taken.difference_update(names)
        _slots.release()
