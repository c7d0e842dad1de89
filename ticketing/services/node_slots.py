"""Requests that wait for nodes: each has a slot (outside_slots.py), and unpaid orders a pace.

A client without a credential has one slot, so two clients are needed to fill them. For an unpaid
order, a process looks once in LOOK_SECONDS: more often, there is rarely a new block. One look may
come early, for a buyer who asks, pays and asks again.

Example, with 2 s: looks at 0 s and 1 s are done. The next one is due at 2 s, the one after it at
4 s.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ticketing.constants import LOOK_SECONDS
from ticketing.errors import NodesBusy
from ticketing.services import outside_slots

_paced: dict[str, float] = {}
"""Unpaid orders, and when a look for each would not come early any more. The last used is last."""
_guard = threading.Lock()


@contextmanager
def slot(subject: str, client: str | None = None) -> Iterator[None]:
    """Run a block that waits for a node or a facilitator, in a slot of the process.

    `client`: the client of a request without a credential. NodesBusy, at once, if there is no slot,
    or while another request waits for the same subject (an order or an account), or another
    request of the client waits.
    """
    names = {subject} if client is None else {subject, f"client {client}"}
    with outside_slots.slot(names, NodesBusy):
        yield


def is_due(order_id: str) -> bool:
    """Return whether this process may look for the payment of an unpaid order again."""
    with _guard:
        return _paced.get(order_id, 0.0) <= time.monotonic() + LOOK_SECONDS


def looked(order_id: str) -> None:
    """Note a look that found an order unpaid: the next ones are due later."""
    now = time.monotonic()
    with _guard:
        _paced[order_id] = max(now, _paced.pop(order_id, 0.0)) + LOOK_SECONDS
        for each, at in list(_paced.items()):
            if at > now:
                break
            del _paced[each]
