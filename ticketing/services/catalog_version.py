"""What tells whether a public answer still stands: revisions, stock that ran out, sales times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from peewee import JOIN, ModelSelect

from ticketing import clock
from ticketing.constants import Publication
from ticketing.db.connection import snapshot
from ticketing.models.prepared import Prepared
from ticketing.models.tenants import Tenant
from ticketing.models.ticket_types import TicketType

T = TypeVar("T")


@dataclass(frozen=True)
class Version:
    """A moment of what the public sees of a tenant, or of one of its events too.

    It stands from `since` until `until`, as long as the database tells the same `stamp`.
    """

    tenant_id: str
    event_id: str | None
    stamp: list[tuple[Any, ...]]
    since: datetime
    until: datetime | None


def standing(tenant_id: str, event_id: str | None) -> Version:
    """Return how things stand: `read` asks it and what is shown of one moment."""
    now = clock.now()
    until = _next_change(event_id, now) if event_id is not None else None
    return Version(tenant_id, event_id, _stamp(tenant_id, event_id), now, until)


def stands(seen: Version) -> bool:
    """Tell whether what was read after `seen` is what would be read now."""
    now = clock.now()
    # A clock that was set back may stand before a sale that had begun.
    if now < seen.since or (seen.until is not None and now >= seen.until):
        return False
    return _stamp(seen.tenant_id, seen.event_id) == seen.stamp


def read(stand: Callable[[], Version], view: Callable[[], T]) -> tuple[Version, T]:
    """Return how things stand and what `view` shows, as of one moment.

    Stock that ran out between the two and came back would be shown as gone for as long as the
    rest stands.
    """
    with snapshot():
        return stand(), view()


def advance(tenant_id: str) -> None:
    """Let what the public sees of a tenant be read anew. Call it in the changing transaction."""
    _advance.run(tenant_id=tenant_id)


def advance_all() -> None:
    """Let what the public sees of every tenant be read anew."""
    Tenant.update(revision=Tenant.revision + 1).execute()


@Prepared
def _advance(tenant_id: Any) -> Any:
    return Tenant.update(revision=Tenant.revision + 1).where(Tenant.id == tenant_id)


def _stamp(tenant_id: str, event_id: str | None) -> list[tuple[Any, ...]]:
    """Return the tenant's revision, beside each ticket type of the event that is sold out.

    Stock has no part in the revision: all buyers of a tenant would wait for one row.
    """
    return _stamp_of.tuples(tenant_id=tenant_id, event_id=event_id)


@Prepared
def _stamp_of(tenant_id: Any, event_id: Any) -> ModelSelect[Tenant]:
    sold_out = TicketType.held + TicketType.sold + TicketType.min_per_order > TicketType.capacity
    return (
        Tenant.select(Tenant.revision, TicketType.id)
        .join(TicketType, JOIN.LEFT_OUTER, on=(TicketType.event == event_id) & sold_out)
        .where(Tenant.id == tenant_id)
        .order_by(TicketType.id)
    )


def _next_change(event_id: str, now: datetime) -> datetime | None:
    """Return when the next sale of an event begins or ends."""
    published = TicketType.select(TicketType.sales_start_at, TicketType.sales_end_at).where(
        TicketType.event == event_id, TicketType.status == Publication.PUBLISHED
    )
    rows: Any = published.tuples()
    moments = [each for times in rows for each in times]
    return min((each for each in moments if each is not None and each > now), default=None)
