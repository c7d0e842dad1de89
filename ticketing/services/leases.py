"""Leases: of all worker processes, only the one that holds a lease does a task.

The holder renews its lease. If it stops, another process takes over after LEASE.
"""

import time
import uuid
from datetime import datetime, timedelta

from ticketing import clock
from ticketing.models.notifications import Lease

LEASE = timedelta(seconds=10)
"""For how long a worker that stopped responding keeps a lease."""

RENEWED_EVERY = timedelta(seconds=2)

_MARGIN_SECONDS = 1.0
"""How long before its end a lease is not used any more, because clocks differ."""


class LeaseHolder:
    """One worker's side of a lease: it takes the lease, renews it and gives it back."""

    def __init__(self, name: str) -> None:
        self.is_held: bool | None = None
        """Whether the last `take` had success. None before the first one."""
        self._name = name
        self._id = uuid.uuid4().hex
        self._asked_at: datetime | None = None
        self._ends = 0.0

    @property
    def is_certain(self) -> bool:
        """Whether no other worker can have the lease at this moment."""
        return bool(self.is_held) and time.monotonic() < self._ends

    def take(self) -> bool:
        """Take or renew the lease. False while another worker holds it."""
        began, ends = clock.now(), time.monotonic() + LEASE.total_seconds() - _MARGIN_SECONDS
        self.is_held = _take(self._name, self._id)
        self._asked_at, self._ends = began, ends
        return self.is_held

    def keep(self) -> bool:
        """Take or renew the lease every RENEWED_EVERY. Return whether this worker holds it."""
        if clock.is_within(RENEWED_EVERY, self._asked_at):
            return bool(self.is_held)
        return self.take()

    def give_back(self) -> None:
        """Release the lease, so that another worker can continue at once."""
        self.is_held, self._asked_at = None, None
        (
            Lease.update(holder=None, until=None)
            .where(Lease.name == self._name, Lease.holder == self._id)
            .execute()
        )


def _take(name: str, holder: str) -> bool:
    now = clock.now()
    is_free = (
        Lease.holder.is_null()
        | (Lease.holder == holder)
        | (Lease.until < now)
        # The lease ends too far in the future, because this clock was set back.
        | (Lease.until > now + LEASE + clock.CLOCKS_APART)
    )
    columns = {"holder": holder, "until": now + LEASE}
    taken = Lease.update(columns).where(Lease.name == name, is_free).execute()
    if taken == 1:
        return True
    inserted = Lease.insert(name=name, **columns).on_conflict_ignore().as_rowcount().execute()
    return bool(inserted == 1)
