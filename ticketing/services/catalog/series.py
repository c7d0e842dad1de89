"""Series: events that belong together have a page of their own, under one name.

The names of series and of events share one namespace, because their pages have the same addresses.
Who takes a name locks the tenant's row first, and then checks that the name is free.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ticketing.db.connection import write_transaction
from ticketing.errors import NotFound, SlugTaken
from ticketing.models.events import Event
from ticketing.models.series import Series
from ticketing.models.tenants import Tenant
from ticketing.services import catalog_version
from ticketing.services.catalog import descriptions


def check_free(tenant_id: str, slugs: Iterable[str], series: str | None) -> None:
    """Check that no series has the name of one of these events, nor an event that of their series.

    Call it after the rows were written and the tenant's revision moved: that locks the tenant, so
    of two transactions that take one name, the second one sees the first. SlugTaken.
    """
    of_tenant = Event.select().where(Event.tenant == tenant_id)
    clash = Event.series.in_(list(slugs))
    if series is not None:
        clash |= Event.slug == series
    if of_tenant.where(clash).exists():
        raise SlugTaken


def read(tenant_id: str, slug: str) -> Series:
    """Return what the page of a series says. NotFound if no event names it."""
    if not Event.select().where(Event.tenant == tenant_id, Event.series == slug).exists():
        raise NotFound("This series does not exist.")
    written: Series | None = Series.get_or_none(Series.tenant == tenant_id, Series.slug == slug)
    return written or Series(tenant=tenant_id, slug=slug)


def change(tenant: Tenant, slug: str, fields: dict[str, Any]) -> Series:
    """Change what the page of a series says. Its events stay as they are. NotFound, Invalid."""
    with write_transaction():
        catalog_version.advance(tenant.id)  # locks the tenant: nobody else writes the row
        found = read(tenant.id, slug)
        values = {"title": found.title, "description": found.description, **fields}
        if "description" in fields:
            values |= descriptions.columns(fields["description"])
        Series.insert(tenant=tenant, slug=slug, **values).on_conflict(
            conflict_target=[Series.tenant, Series.slug], update=values
        ).execute()
    return Series(tenant=tenant, slug=slug, **values)
