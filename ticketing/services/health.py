"""Readiness: the database, its migrations, whether it can be written, the age of each cursor."""

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from peewee import DatabaseError, InterfaceError

from ticketing import clock
from ticketing.chain.registry import Chain
from ticketing.db import migrate
from ticketing.db.connection import UNAVAILABLE, close_broken_connection
from ticketing.models.chains import ChainState
from ticketing.models.rate_counts import RateCount
from ticketing.services import chains
from ticketing.version import VERSION

WRITE_CHECK_SECONDS = 5.0
_WRITE_CHECK = "readyz"
"""The row that is written: housekeeping deletes it with the counts of past minutes."""

_ONE_URL = "A second RPC URL protects your refunds."


@dataclass(frozen=True)
class Cursor:
    """The last block of a chain that was read, and when the worker last read the chain.

    `facilitator_refusal`: why x402 is off, although the chain has a facilitator. `note`: what the
    operator can improve.
    """

    chain_id: int
    block_number: int | None
    block_time: datetime | None
    age_seconds: int | None
    refusal: str | None
    facilitator_refusal: str | None
    note: str | None


@dataclass(frozen=True)
class Readiness:
    """Whether the database responds, is migrated and can be written, and the chains' cursors.

    While it can only be read, the service is still ready: reads work, and so do the doors. The
    release is that of the process that answers.
    """

    version = VERSION
    database: bool
    migrations: bool
    writable: bool
    chains: Sequence[Cursor]

    @property
    def ready(self) -> bool:
        """Whether the service can handle requests."""
        return self.database and self.migrations

    @property
    def status(self) -> str:
        """`ready`, `read_only` or `not_ready`."""
        if not self.ready:
            return "not_ready"
        return "ready" if self.writable else "read_only"


class WriteCheck:
    """Finds out whether the database can be written, at most every WRITE_CHECK_SECONDS.

    Threads may share it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._writable = True
        self._next = 0.0

    def is_writable(self) -> bool:
        """Write a row, or return what the last check found. A check may wait for a lock."""
        if time.monotonic() >= self._next and self._lock.acquire(blocking=False):
            try:
                self._writable = _can_write()
                self._next = time.monotonic() + WRITE_CHECK_SECONDS
            finally:
                self._lock.release()
        return self._writable


def _can_write() -> bool:
    minute = int(clock.now().timestamp() // 60)
    row = RateCount.insert(caller=_WRITE_CHECK, minute=minute, used=1)
    changes = {RateCount.minute: minute, RateCount.used: RateCount.used + 1}
    try:
        # Without a change there would be nothing to write.
        row.on_conflict(conflict_target=[RateCount.caller], update=changes).execute()
    except UNAVAILABLE:
        close_broken_connection()
        return False
    return True


def readiness(enabled: Mapping[int, Chain], write_check: WriteCheck) -> Readiness:
    """Check the database and its migrations, and return them with the chains' cursors."""
    try:
        current = not migrate.pending()
        if not current:
            return Readiness(True, False, False, [])
        cursors = _cursors(enabled)
        return Readiness(True, True, write_check.is_writable(), cursors)
    except (DatabaseError, InterfaceError):
        close_broken_connection()
        return Readiness(False, False, False, [])


def _cursors(enabled: Mapping[int, Chain]) -> list[Cursor]:
    states = chains.states()
    now = clock.now()
    found = []
    for chain_id in enabled:
        state = states.get(chain_id)
        looked_at: datetime | None = state.looked_at if state else None
        found.append(
            Cursor(
                chain_id=chain_id,
                block_number=state.block_number if state else None,
                block_time=state.block_time if state else None,
                age_seconds=max(0, int((now - looked_at).total_seconds())) if looked_at else None,
                refusal=state.refusal if state else None,
                facilitator_refusal=_facilitator_refusal(enabled[chain_id], state),
                note=_ONE_URL if len(enabled[chain_id].rpc_urls) == 1 else None,
            )
        )
    return found


def _facilitator_refusal(chain: Chain, state: ChainState | None) -> str | None:
    """Return why x402 is off on a chain that has a facilitator. None: it is on, or has none."""
    if chain.facilitator is None or chains.has_facilitator(state):
        return None
    return (state and state.facilitator_refusal) or "it was not asked yet"
