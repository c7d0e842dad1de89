"""Versions of the public catalog: they show when a cached response is out of date.

A version depends on the tenant's revision, on ticket types of which few are left (or of their
event), and on the times at which sales start and end, and the event is over.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from peewee import JOIN, Case, ModelSelect

from ticketing import clock
from ticketing.constants import FEW_LEFT, HOLD_UNDER_PRESSURE
from ticketing.models.events import Event
from ticketing.models.prepared import Prepared
from ticketing.models.tenants import Tenant
from ticketing.models.ticket_types import EventStock, TicketType
from ticketing.waiting_room import DRAW_SECONDS, WaitingRoomMode

T = TypeVar("T")

State = list[tuple[Any, ...]]
"""A tenant's revision, once for each ticket type of an event of which few are left, with how many,
how many are given back, and whether somebody waits for it. That of one for which somebody waits is
there, however many are left.

Stock is not part of the revision: otherwise all buyers of a tenant would wait for one row. While
many are left, orders do not change the state.
"""


@dataclass(frozen=True)
class Version:
    """The version of a tenant's public data, or of one event's public data.

    It is fresh from `since` until `until`, while `state` in the database is unchanged.
    """

    tenant_id: str
    event_id: str | None
    state: State
    since: datetime
    until: datetime | None

    def at_most_until(self, until: datetime) -> Version:
        """Return the same version, which ends at `until` at the latest."""
        return replace(self, until=until if self.until is None else min(until, self.until))


@dataclass(frozen=True)
class Versioned(Generic[T]):
    """A value for the public, with its version."""

    value: T
    version: Version


def of_tenant(tenant: Tenant, now: datetime) -> Version:
    """Return the version of data that is read after `tenant`."""
    return Version(
        tenant.id, None, [(tenant.revision, None, None, None, None, None, None)], now, None
    )


def of_event(tenant: Tenant, event: Event, shown: Iterable[TicketType], now: datetime) -> Version:
    """Return the version of the ticket types `shown`. Read both in one snapshot, at `now`.

    Without a snapshot, stock could run out and come back between the two reads. The response would
    then show it as sold out until something else changes. The revision comes from `tenant`, which
    was read first: so a response may be newer than its version, but never older.
    """
    state = [(tenant.revision, *few_left) for _, *few_left in _state(tenant.id, event.id)]
    times = [time for each in shown for time in (each.sales_start_at, each.sales_end_at)]
    times += [event.over_at, event.returns_end - HOLD_UNDER_PRESSURE]
    times += [each.list_closes_at(event) for each in shown if each.allow_waitinglist]
    if event.waiting_room == WaitingRoomMode.ON:
        draw = timedelta(seconds=DRAW_SECONDS)
        times += [each.sales_start_at - draw for each in shown if each.sales_start_at is not None]
    until = min((time for time in times if time is not None and time > now), default=None)
    return Version(tenant.id, event.id, state, now, until)


def is_fresh(version: Version) -> bool:
    """Return whether the data of this version is still current. Runs one query."""
    now = clock.now()
    # If the clock was set back, the current time may be before `since`.
    if now < version.since or (version.until is not None and now >= version.until):
        return False
    return _state(version.tenant_id, version.event_id) == version.state


def advance(tenant_id: str) -> None:
    """Make all versions of a tenant out of date. Call it in the transaction of the change."""
    _advance.run(tenant_id=tenant_id)


def advance_all() -> None:
    """Make all versions of all tenants out of date."""
    Tenant.update(revision=Tenant.revision + 1).execute()


@Prepared
def _advance(tenant_id: Any) -> Any:
    return Tenant.update(revision=Tenant.revision + 1).where(Tenant.id == tenant_id)


def _state(tenant_id: str, event_id: str | None) -> State:
    return _state_of.tuples(tenant_id=tenant_id, event_id=event_id)


@Prepared
def _state_of(tenant_id: Any, event_id: Any) -> ModelSelect[Tenant]:
    least = TicketType.min_per_order

    def few(left: Any) -> Any:
        return (left <= FEW_LEFT) | (left < least)

    of_type = TicketType.capacity - TicketType.held - TicketType.sold
    of_event = EventStock.capacity - EventStock.held - EventStock.sold
    is_few_of_type, is_few_of_event = few(of_type), TicketType.admission & few(of_event)
    # Nothing is left, but not all of it is sold.
    is_unsold = (
        TicketType.capacity.is_null() | (TicketType.capacity - TicketType.sold >= least)
    ) & (
        ~TicketType.admission
        | EventStock.capacity.is_null()
        | (EventStock.capacity - EventStock.sold >= least)
    )
    is_of_event, is_waited_for = TicketType.event == event_id, TicketType.waiting > TicketType.idle
    return (
        Tenant.select(
            Tenant.revision,
            TicketType.id,
            Case(None, [(is_few_of_type, of_type)], None),
            Case(None, [(is_few_of_event, of_event)], None),
            Case(None, [(is_unsold, TicketType.id)], None),
            TicketType.offered - TicketType.taken,
            Case(None, [(is_waited_for, TicketType.id)], None),
        )
        .join_from(Tenant, EventStock, JOIN.LEFT_OUTER, on=(EventStock.event == event_id))
        .join_from(
            Tenant,
            TicketType,
            JOIN.LEFT_OUTER,
            on=(is_of_event & (is_few_of_type | is_few_of_event | is_waited_for)),
        )
        .where(Tenant.id == tenant_id)
        .order_by(TicketType.id)
    )
