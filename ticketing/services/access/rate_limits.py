"""Rate limits: how many requests per minute one caller may make.

Most classes count in the memory of the process, so that reads write nothing. Each process then
grants its share of the limit. Sign-in, preflight and wrong codes count in the database, for all
processes and hosts together (limits.COUNTED_IN_DATABASE).
"""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple

from peewee import Case, DatabaseError, InterfaceError, ModelInsert, ModelSelect

from ticketing import clock
from ticketing.db import pruning
from ticketing.db.connection import close_broken_connection
from ticketing.errors import DatabaseUnavailable, TooManyRequests
from ticketing.limits import COUNTED_IN_DATABASE, WIDE_FACTOR, CallClass
from ticketing.models.prepared import Prepared
from ticketing.models.rate_counts import RateCount

SECONDS = 60
KEPT_CALLERS = 50_000
"""The most callers that a process counts in a minute. Beyond that, it drops the oldest count."""
DELETED_AT_ONCE = 10_000

log = logging.getLogger(__name__)


class Allowance(NamedTuple):
    """What is left for a caller: `remaining` requests of `limit`, for `reset` seconds.

    `granted`: whether the current request is within the limit.
    """

    granted: bool
    call_class: CallClass
    limit: int
    remaining: int
    reset: int


@Prepared
def _add(caller: Any, minute: Any) -> ModelInsert:
    # Another host's clock may be in the next minute already. A clock far ahead was wrong.
    same = RateCount.minute.in_([minute, minute + 1])
    return (
        RateCount.insert(caller=caller, minute=minute, used=1)
        .on_conflict(
            conflict_target=[RateCount.caller],
            update={
                RateCount.minute: Case(None, [(same, RateCount.minute)], minute),
                RateCount.used: Case(None, [(same, RateCount.used + 1)], 1),
            },
        )
        .returning(RateCount.used)
    )


@Prepared
def _used(caller: Any, minute: Any) -> ModelSelect[RateCount]:
    same = RateCount.minute.in_([minute, minute + 1])
    return RateCount.select(RateCount.used).where(RateCount.caller == caller, same)


class Limiter:
    """Counts the requests of each caller. Threads may share it."""

    processes: ClassVar[int] = 1
    """The number of processes on this host that share the limit. gunicorn.conf.py sets it."""

    def __init__(self) -> None:
        self._minute = 0
        self._used: dict[str, int] = {}
        self._lock = threading.Lock()

    def spend(self, call_class: CallClass, callers: Sequence[str], limit: int) -> Allowance:
        """Count one request of a caller, with `limit` requests per minute.

        `callers`: the caller's identifiers, from narrow to wide. Each wider one has WIDE_FACTOR
        times the limit. DatabaseUnavailable if the class counts in the database, which is down.
        """
        seconds = clock.now().timestamp()
        minute = int(seconds // SECONDS)
        reset = math.ceil((minute + 1) * SECONDS - seconds)
        is_shared = call_class in COUNTED_IN_DATABASE
        quota = limit if is_shared else math.ceil(limit / self.processes)
        remaining = quota
        for place, caller in enumerate(callers):
            most = quota * WIDE_FACTOR**place
            used = self._count(f"{call_class} {caller}", minute, most, is_shared=is_shared)
            remaining = min(remaining, most - used)
            if remaining < 0:
                break  # a rejected request must not count against the wider network
        return Allowance(remaining >= 0, call_class, quota, max(0, remaining), reset)

    def wait_for_guess(self, callers: Sequence[str], limit: int, pending: int) -> int | None:
        """Return for how many seconds a caller must not guess any more. None: it may guess now.

        Reads what `spend` has counted in the class GUESS. `pending`: guesses not counted yet.
        """
        seconds = clock.now().timestamp()
        minute = int(seconds // SECONDS)
        for place, caller in enumerate(callers):
            rows = _used.tuples(caller=f"{CallClass.GUESS} {caller}", minute=minute)
            if sum(used for (used,) in rows) + pending >= limit * WIDE_FACTOR**place:
                return math.ceil((minute + 1) * SECONDS - seconds)
        return None

    def _count(self, caller: str, minute: int, most: int, *, is_shared: bool) -> int:
        """Count a request of a caller, and return the count: of all processes if `is_shared`.

        Over the limit, there are no more queries.
        """
        with self._lock:
            if self._minute != minute:
                self._minute, self._used = minute, {}
            known = self._used.get(caller, 0)
            if not is_shared or known > most:
                self._set(caller, minute, known + 1)
                return known + 1
        total = _count_in_database(caller, minute)
        with self._lock:
            self._set(caller, minute, total)
        return total

    def _set(self, caller: str, minute: int, used: int) -> None:
        if self._minute == minute:
            # Other threads may have counted more in the meantime.
            self._used[caller] = max(used, self._used.get(caller, 0))
            if len(self._used) > KEPT_CALLERS:
                del self._used[next(iter(self._used))]


def _count_in_database(caller: str, minute: int) -> int:
    """Count a request of a caller for all processes, and return the count."""
    try:
        ((counted,),) = _add.tuples(caller=caller, minute=minute)
    except (DatabaseError, InterfaceError) as error:
        log.error("cannot count requests: %s", str(error).strip().split("\n")[0])
        close_broken_connection()
        raise DatabaseUnavailable from None
    return int(counted)


class OneAtATime:
    """Lets one thread of this process do something expensive. Others get TooManyRequests."""

    def __init__(self, *, retry_after: int) -> None:
        self._lock = threading.Lock()
        self._retry_after = retry_after

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Run the block. TooManyRequests if another thread is running it."""
        if not self._lock.acquire(blocking=False):
            raise TooManyRequests(retry_after=self._retry_after)
        try:
            yield
        finally:
            self._lock.release()


def forget_old() -> None:
    """Delete the counts of past minutes."""
    minute = int(clock.now().timestamp() // SECONDS)
    pruning.delete_some(RateCount.caller, RateCount.minute < minute - 1, at_once=DELETED_AT_ONCE)
