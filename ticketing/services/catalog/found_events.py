"""Events of all organizers who allow that they are found, for programs that know no organizer."""

from __future__ import annotations

from ticketing import clock
from ticketing.config import Config
from ticketing.constants import OVER_AFTER_START, Publication, Visibility
from ticketing.models.base import holds_text, literal
from ticketing.models.events import Event
from ticketing.models.tenants import Tenant
from ticketing.services import images
from ticketing.services.pagination import Page, PageRequest, paginate


def find(page: PageRequest, config: Config, q: str | None = None) -> Page[Event]:
    """Return a page of events that are not over, each with its `tenant`, the earliest first.

    `q`: text in the title, ASCII letters in any case.
    """
    now = clock.now()
    # The index begins there. An event that began earlier may go on, but nobody looks for it.
    begins = Event.start_at > now - OVER_AFTER_START
    goes_on = Event.end_at.is_null() | (Event.end_at > now)
    is_public = Event.visibility == Visibility.PUBLIC
    query = (
        Event.select(Event, Tenant)
        .join(Tenant)
        .where(Event.status == literal(Publication.PUBLISHED), begins, goes_on, is_public)
        .where(Tenant.listed)
    )
    if q is not None:
        query = query.where(holds_text(Event.title, q))
    found = paginate(query, [Event.start_at, Event.id], page, scope=f"found events {q!r}")
    for event in found.data:
        images.add_urls(event.tenant, [event], config)
    return found
