"""What is counted in a day: for a client one at a time, and for what has a lock of its own.

A count is read before its row is written. So the caller has a lock that lets others wait until its
transaction ends: `take_turn` for a client, else that of the row for which is counted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from peewee import ModelSelect

from ticketing import clock
from ticketing.db.connection import one_at_a_time
from ticketing.errors import TooMany
from ticketing.models.base import UtcDateTimeField

DAY = timedelta(days=1)


def take_turn(what: str, client: Sequence[str]) -> None:
    """Let others of a client that do the same wait until the transaction ends.

    Call it before other locks. `client`: digests of its networks, from narrow to wide. Empty: it
    has no limits, and nothing happens.
    """
    if client:
        one_at_a_time(f"{what} of {client[-1]}")


def check(made: ModelSelect[Any], at: UtcDateTimeField, most: int, error: type[TooMany]) -> None:
    """Refuse one more of what is counted, with the seconds until it is possible.

    `made` selects what was made before, of any age; `at` is the column with its time. The `error`
    if `most` of them were made in the last 24 hours. Call it under a lock.

    Example, for three a day: if some were made at 8, 9, 10 and 11 o'clock, then one more is
    possible from 9 on the next day.
    """
    counted = made.select(at).where(at > clock.now() - DAY).order_by(at.desc())
    oldest: tuple[datetime] | None = counted.offset(most - 1).limit(1).tuples().first()
    if oldest is not None:
        raise error(retry_after=seconds_until(oldest[0] + DAY))


def seconds_until(at: datetime) -> int:
    """Return the full seconds until a time, at least one: what `Retry-After` says."""
    return max(1, math.ceil((at - clock.now()).total_seconds()))
