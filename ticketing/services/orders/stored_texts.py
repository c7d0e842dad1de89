"""The bytes that orders store of people who may never pay: names, addresses and answers.

What one client stores in a day is bounded by client_limits. What all of them store is bounded here.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Mapping

from ticketing import clock
from ticketing.errors import TextsUnavailable
from ticketing.limits import TEXT_BYTES_OF_ALL

HOUR = 3600
log = logging.getLogger(__name__)

_lock = threading.Lock()
_stored: Counter[int] = Counter()
"""The bytes that this process stored, by the hour since 1970."""


def size(buyer_name: str | None, buyer_email: str | None, answers: Mapping[str, object]) -> int:
    """Return how many bytes an order stores of its buyer. An answer counts as it was sent."""
    texts = [buyer_name or "", buyer_email or "", *(str(each) for each in answers.values())]
    return sum(len(text.encode(errors="replace")) for text in texts)


def check_all(processes: int) -> None:
    """Check what all clients stored in the last day, before an order with answers is made.

    Each of the host's `processes` allows its part of TEXT_BYTES_OF_ALL, and counts in its memory: a
    restart begins at 0. TextsUnavailable, which is logged as an error.
    """
    since = _hour() - 23
    with _lock:
        for hour in [each for each in _stored if each < since]:
            del _stored[hour]
        is_full = _stored.total() >= TEXT_BYTES_OF_ALL // processes
    if is_full:
        log.error("orders stored %d bytes of texts in a day: no more answers", TEXT_BYTES_OF_ALL)
        raise TextsUnavailable


def note(stored: int) -> None:
    """Count the bytes of an order that a client without a credential makes."""
    with _lock:
        _stored[_hour()] += stored


def _hour() -> int:
    return int(clock.now().timestamp()) // HOUR
