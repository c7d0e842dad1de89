"""How often one caller may ask, counted in the database for all processes and hosts together.

A process takes a part of a caller's minute from the database and gives it out by itself, so most
requests are counted without a query. No more than the limit is ever given out; what lies unused
in one process is not there for another.
"""

from __future__ import annotations

import logging
import math
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, NamedTuple

from peewee import Case, DatabaseError, InterfaceError, ModelInsert, ModelSelect, fn

from ticketing import clock
from ticketing.constants import CallClass
from ticketing.db.connection import close_broken_connection, one_at_a_time
from ticketing.errors import TooMuchUnpaid
from ticketing.models.payment_intents import AWAITING, PaymentIntent
from ticketing.models.prepared import Prepared
from ticketing.models.rate_counts import RateCount

SECONDS = 60
PARTS, LARGEST_PART = 10, 100
KEPT_CALLERS = 10_000
DELETED_AT_ONCE = 10_000

log = logging.getLogger(__name__)


class Allowance(NamedTuple):
    """What a caller may still ask for: `remaining` requests of `limit`, for `reset` seconds.

    `granted`: whether the request that it was worked out for is among those that may be made.
    """

    granted: bool
    call_class: CallClass
    limit: int
    remaining: int
    reset: int


@dataclass
class _Part:
    """What this process has of a caller's minute, and what the database has left of it."""

    minute: int
    taken: int
    here: int
    elsewhere: int


@Prepared
def _take(caller: Any, minute: Any, wanted: Any) -> ModelInsert:
    # Another host's clock may be in the next minute already; one far ahead was wrong.
    same = RateCount.minute.in_([minute, minute + 1])
    return (
        RateCount.insert(caller=caller, minute=minute, used=wanted)
        .on_conflict(
            conflict_target=[RateCount.caller],
            update={
                RateCount.minute: Case(None, [(same, RateCount.minute)], minute),
                RateCount.used: Case(None, [(same, RateCount.used + wanted)], wanted),
            },
        )
        .returning(RateCount.caller, RateCount.minute, RateCount.used)
    )


@Prepared
def _unpaid(held_by: Any) -> ModelSelect[PaymentIntent]:
    return PaymentIntent.select(
        fn.SUM(PaymentIntent.quantity), fn.MIN(PaymentIntent.hold_until)
    ).where(PaymentIntent.held_by == held_by, AWAITING)


class Limiter:
    """Counts what callers of this process ask for. Safe to share between threads."""

    def __init__(self) -> None:
        self._parts: OrderedDict[str, _Part] = OrderedDict()
        self._lock = threading.Lock()

    def spend(self, call_class: CallClass, who: str, limit: int) -> Allowance:
        """Count one request of `who`, of whom `limit` a minute are answered."""
        seconds = clock.now().timestamp()
        minute = int(seconds // SECONDS)
        reset = math.ceil((minute + 1) * SECONDS - seconds)
        caller = f"{call_class} {who}"
        remaining = self._spend_here(caller, minute)
        if remaining is None:
            part = _fetch(caller, minute, limit, self._taken(caller, minute))
            remaining = -1
            if part.here:
                part.here -= 1
                remaining = part.here + part.elsewhere
            self._keep(caller, part)
        return Allowance(remaining >= 0, call_class, limit, max(0, remaining), reset)

    def _taken(self, caller: str, minute: int) -> int:
        """Return how much of the minute this process has taken already."""
        with self._lock:
            part = self._parts.get(caller)
            return part.taken if part is not None and part.minute == minute else 0

    def _spend_here(self, caller: str, minute: int) -> int | None:
        """Return what is left after this one, -1 if it is too much, None if nobody knows here."""
        with self._lock:
            part = self._parts.get(caller)
            if part is None or part.minute != minute:
                return None
            if part.here == 0:
                return None if part.elsewhere > 0 else -1
            part.here -= 1
            return part.here + part.elsewhere

    def _keep(self, caller: str, part: _Part) -> None:
        with self._lock:
            before = self._parts.pop(caller, None)
            if before is not None and before.minute == part.minute:
                part.here += before.here
                part.taken += before.taken
            elif before is not None and before.minute == part.minute + 1:
                part = before  # the minute ended while this one was fetched
            self._parts[caller] = part
            while len(self._parts) > KEPT_CALLERS:
                self._parts.popitem(last=False)


def _fetch(caller: str, minute: int, limit: int, taken: int) -> _Part:
    """Take as much of the caller's minute again as was `taken`, less if less is left.

    So a process that is asked little takes little from the others.
    A database that cannot count must not keep readers from what a replica or memory can answer.
    """
    wanted = max(1, min(taken, limit // PARTS, LARGEST_PART))
    try:
        counted = _take.first(caller=caller, minute=minute, wanted=wanted)
    except (DatabaseError, InterfaceError) as error:
        log.warning("requests are not counted: %s", str(error).strip().split("\n")[0])
        close_broken_connection()
        return _Part(minute, wanted, wanted, wanted)
    assert counted is not None
    before = counted.used - wanted
    here = min(wanted, max(0, limit - before))
    return _Part(minute, wanted, here, max(0, limit - counted.used))


def check_unpaid(held_by: str, quantity: int, limit: int) -> None:
    """Hold an address to `limit` unpaid seats, or one order; call it in the order's transaction.

    TooMuchUnpaid.
    """
    one_at_a_time(f"unpaid {held_by}")
    ((seats, hold_until),) = _unpaid.tuples(held_by=held_by)
    if seats and seats + quantity > limit:
        next_end: Any = PaymentIntent.hold_until.python_value(hold_until)
        wait = (next_end - clock.now()).total_seconds()
        raise TooMuchUnpaid(retry_after=max(1, math.ceil(wait)))


def forget_old() -> None:
    """Delete the counts of minutes that are over."""
    minute = int(clock.now().timestamp() // SECONDS)
    over = RateCount.minute < minute - 1
    old = RateCount.select(RateCount.caller).where(over).limit(DELETED_AT_ONCE)
    # Said twice, for a caller who asked again meanwhile.
    RateCount.delete().where(RateCount.caller.in_(old), over).execute()
