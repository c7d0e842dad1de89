"""Leases: of all worker processes, only the one that holds a lease does a task.

The holder renews its lease. If it stops, another process takes over after LEASE.
"""

from datetime import timedelta

from ticketing import clock
from ticketing.models.notifications import Lease

LEASE = timedelta(seconds=10)
"""For how long a worker that stopped responding keeps a lease."""


def take(name: str, holder: str) -> bool:
    """Take or renew a lease. False while another process holds it."""
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


def give_back(name: str, holder: str) -> None:
    """Release a lease, so that another process can continue at once."""
    (
        Lease.update(holder=None, until=None)
        .where(Lease.name == name, Lease.holder == holder)
        .execute()
    )
