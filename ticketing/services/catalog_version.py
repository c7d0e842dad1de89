"""When a public answer is out of date: revisions, stock that ran out, sales that begin or end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from peewee import JOIN, ModelSelect

from ticketing import clock
from ticketing.models.prepared import Prepared
from ticketing.models.tenants import Tenant
from ticketing.models.ticket_types import TicketType

T = TypeVar("T")

State = list[tuple[int, str | None]]
"""A tenant's revision, beside each ticket type of an event that is sold out.

Stock has no part in the revision: all buyers of a tenant would wait for one row.
"""


@dataclass(frozen=True)
class Version:
    """A version of what the public sees of a tenant, or of one of its events too.

    It is fresh from `since` until `until`, while the database holds the same `state`.
    """

    tenant_id: str
    event_id: str | None
    state: State
    since: datetime
    until: datetime | None


@dataclass(frozen=True)
class Versioned(Generic[T]):
    """What the public sees, and its version."""

    value: T
    version: Version


def of_tenant(tenant: Tenant, now: datetime) -> Version:
    """Return the version of what is read after `tenant` was."""
    return Version(tenant.id, None, [(tenant.revision, None)], now, None)


def of_event(tenant: Tenant, event_id: str, shown: Iterable[TicketType], now: datetime) -> Version:
    """Return the version of the ticket types `shown`, read in the same snapshot at `now`.

    Without a snapshot, stock could run out and come back between the two reads. The answer would
    then show it as gone for as long as nothing else changes. The revision is the one that was
    read with `tenant`, before everything else: an answer may be newer than its version.
    """
    state = [(tenant.revision, sold_out) for _, sold_out in _state(tenant.id, event_id)]
    times = [time for each in shown for time in (each.sales_start_at, each.sales_end_at)]
    until = min((time for time in times if time is not None and time > now), default=None)
    return Version(tenant.id, event_id, state, now, until)


def is_fresh(version: Version) -> bool:
    """Return whether what was read at this version would be read again now. One query."""
    now = clock.now()
    # A clock that was set back may show a time before a sale that had begun.
    if now < version.since or (version.until is not None and now >= version.until):
        return False
    return _state(version.tenant_id, version.event_id) == version.state


def advance(tenant_id: str) -> None:
    """Make every version of a tenant out of date. Call it in the changing transaction."""
    _advance.run(tenant_id=tenant_id)


def advance_all() -> None:
    """Make every version of every tenant out of date."""
    Tenant.update(revision=Tenant.revision + 1).execute()


@Prepared
def _advance(tenant_id: Any) -> Any:
    return Tenant.update(revision=Tenant.revision + 1).where(Tenant.id == tenant_id)


def _state(tenant_id: str, event_id: str | None) -> State:
    return _state_of.tuples(tenant_id=tenant_id, event_id=event_id)


@Prepared
def _state_of(tenant_id: Any, event_id: Any) -> ModelSelect[Tenant]:
    sold_out = TicketType.held + TicketType.sold + TicketType.min_per_order > TicketType.capacity
    return (
        Tenant.select(Tenant.revision, TicketType.id)
        .join(TicketType, JOIN.LEFT_OUTER, on=(TicketType.event == event_id) & sold_out)
        .where(Tenant.id == tenant_id)
        .order_by(TicketType.id)
    )
