"""What is counted in a day: for a client one at a time, and for what has a lock of its own.

A count is read before its row is written. So the caller has a lock that lets others wait until its
transaction ends: `take_turn` for a client, else that of the row for which is counted.

`check` counts rows that are there anyway, such as orders. `add` is for what has none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from peewee import ModelSelect

from ticketing import clock
from ticketing.db import pruning
from ticketing.db.connection import one_at_a_time, write_transaction
from ticketing.errors import TooMany
from ticketing.limits import WIDE_FACTOR
from ticketing.models.base import UtcDateTimeField
from ticketing.models.daily_amounts import DailyAmount

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


def add(what: str, client: Sequence[str], amount: int, most: int, error: type[TooMany]) -> None:
    """Count an amount for a client: it may have `most` of `what` in a day.

    `client` as for `take_turn`; each wider network may have WIDE_FACTOR times as much. The `error`
    if that is too much for one of them, with the seconds until its day ends; then nothing is
    counted. In a transaction, others of the client wait until that ends: call it before other
    locks. If the transaction is undone, the amount was not counted.

    A network's day begins with its first amount, and lasts for 24 hours. So in the 24 hours around
    its end, it may have twice as much.

    Example, with `add("bytes", client, 30_000, 2_000_000, TooManyBytes)`: a client of 2001:db8::/64
    stores 30 kB at 8:00 and more until 1.99 MB at 9:00. The next 30 kB are refused until 8:00 on
    the next day; 10 kB would not be. All of its /48 together may store 6 MB.
    """
    if not client:
        return
    with write_transaction():
        take_turn(what, client)
        now = clock.now()
        had = {
            row.client: row
            for row in DailyAmount.select().where(
                DailyAmount.what == what,
                DailyAmount.client.in_(list(client)),
                DailyAmount.began_at > now - DAY,
            )
        }
        for place, network in enumerate(client):
            row = had.get(network)
            if (row.amount if row else 0) + amount > most * WIDE_FACTOR**place:
                raise error(retry_after=seconds_until((row.began_at if row else now) + DAY))
        for network in client:
            row = had.get(network)
            columns = {
                "began_at": row.began_at if row else now,
                "amount": (row.amount if row else 0) + amount,
            }
            (
                DailyAmount.insert(what=what, client=network, **columns)
                .on_conflict(conflict_target=[DailyAmount.what, DailyAmount.client], update=columns)
                .execute()
            )


def forget_old() -> None:
    """Delete amounts of days that ended a day ago."""
    is_old = DailyAmount.began_at < clock.now() - 2 * DAY
    pruning.delete_some(DailyAmount.client, is_old, first=DailyAmount.began_at)


def seconds_until(at: datetime) -> int:
    """Return the full seconds until a time, at least one: what `Retry-After` says."""
    return max(1, math.ceil((at - clock.now()).total_seconds()))
