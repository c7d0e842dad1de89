"""What tells whether a public answer still stands: revisions, stock that ran out, sales times."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from peewee import JOIN, InterfaceError, ModelSelect, OperationalError

from ticketing import clock
from ticketing.constants import Publication
from ticketing.db import close_broken_connection, database
from ticketing.models.prepared import Prepared
from ticketing.models.tenants import Tenant
from ticketing.models.ticket_types import TicketType

REPLICA_AVOIDED_SECONDS = 30.0
"""How long a replica that could not be read is let alone."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Standing:
    """A moment of what the public sees of a tenant, or of one of its events too.

    It stands until `until`, as long as the database tells the same `stamp`.
    """

    tenant_id: str
    event_id: str | None
    stamp: list[tuple[Any, ...]]
    until: datetime | None


def standing(tenant_id: str, event_id: str | None) -> Standing:
    """Return how things stand. Ask first, then read what is shown: so it is never older."""
    until = _next_change(event_id, clock.now()) if event_id is not None else None
    return Standing(tenant_id, event_id, _stamp(tenant_id, event_id), until)


def stands(seen: Standing) -> bool:
    """Tell whether what was read after `seen` is what would be read now."""
    if seen.until is not None and clock.now() >= seen.until:
        return False
    return _stamp(seen.tenant_id, seen.event_id) == seen.stamp


@contextmanager
def reading(seen: Standing) -> Iterator[None]:
    """Read on the replica, if there is one that is as far as `seen`."""
    with database.on_replica() if _is_on_replica(seen) else nullcontext():
        yield


def _is_on_replica(seen: Standing) -> bool:
    if database.replica is None or time.monotonic() < database.avoided_until:
        return False
    with database.on_replica():
        try:
            return _stamp(seen.tenant_id, seen.event_id) == seen.stamp
        except (OperationalError, InterfaceError) as error:
            log.warning("the replica cannot be read: %s", str(error).strip().split("\n")[0])
            close_broken_connection()
            database.avoided_until = time.monotonic() + REPLICA_AVOIDED_SECONDS
            return False


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
    rows: Any = _stamp_of.rows(tenant_id=tenant_id, event_id=event_id)
    return list(rows)


@Prepared
def _stamp_of(tenant_id: Any, event_id: Any) -> ModelSelect[Tenant]:
    sold_out = TicketType.held + TicketType.sold + TicketType.min_per_order > TicketType.capacity
    return (
        Tenant.select(Tenant.revision, TicketType.id)
        .join(TicketType, JOIN.LEFT_OUTER, on=(TicketType.event == event_id) & sold_out)
        .where(Tenant.id == tenant_id)
        .order_by(TicketType.id)
        .tuples()
    )


def _next_change(event_id: str, now: datetime) -> datetime | None:
    """Return when the next sale of an event begins or ends."""
    published = TicketType.select(TicketType.sales_start_at, TicketType.sales_end_at).where(
        TicketType.event == event_id, TicketType.status == Publication.PUBLISHED
    )
    rows: Any = published.tuples()
    moments = [each for times in rows for each in times]
    return min((each for each in moments if each is not None and each > now), default=None)
