"""Events: list, create, read, change, publish, cancel."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import Any

from peewee import Field, IntegrityError, ModelSelect

from ticketing import clock, ids
from ticketing.config import Config
from ticketing.constants import PUBLICATION_MOVES, EventType, Publication
from ticketing.db.connection import locked, savepoint, write_transaction
from ticketing.errors import (
    FieldMessage,
    HasIntents,
    InThePast,
    Invalid,
    InvalidTransition,
    NotFound,
    SlugFixed,
    SlugTaken,
)
from ticketing.models.base import holds_text
from ticketing.models.events import Event
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.prepared import Prepared
from ticketing.models.tenants import Tenant
from ticketing.models.ticket_types import TicketType
from ticketing.services import catalog_version, images
from ticketing.services.catalog import descriptions, event_capacity, obstacles, series
from ticketing.services.notifications import facts, feed
from ticketing.services.notifications.facts import Fact
from ticketing.services.orders import stock, waiting_ends
from ticketing.services.pagination import Page, PageRequest, paginate
from ticketing.services.payments import event_voids, sale_locks
from ticketing.services.waiting_room import opening

MAX_SLUG = 80
TIMES = ("start_at", "end_at", "doors_open_at", "transfers_end_at")
"""The times of an event itself."""

_NOT_IN_SLUG = re.compile(r"[^a-z0-9]+")
_SORTS: dict[str, list[Field[Any]]] = {
    "created_at": [Event.id],
    "start_at": [Event.start_at, Event.id],
}


def _select(tenant_id: Any, event_id: Any) -> ModelSelect[Event]:
    return Event.select().where(Event.tenant == tenant_id, Event.id == event_id)


_by_id: Prepared[Event] = Prepared(_select)


def create(tenant: Tenant, fields: dict[str, Any], config: Config) -> Event:
    """Create an event. SlugTaken; Invalid if it ends before it starts, or before the doors open.

    `fields` are the validated fields of the request. The default slug is made from the title.
    """
    check_times(fields)
    fields = {**fields, **descriptions.columns(fields.get("description", ""))}
    slug = fields.pop("slug", None)
    now = clock.now()
    for candidate in _slugs_from(fields["title"]) if slug is None else [slug]:
        try:
            # A duplicate slug must roll back only the insert, not the whole transaction.
            with savepoint():
                event = Event.create(
                    id=ids.new(ids.EVENT),
                    tenant=tenant,
                    slug=candidate,
                    created_at=now,
                    updated_at=now,
                    **fields,
                )
                event_capacity.start(event)
                catalog_version.advance(tenant.id)
                series.check_free(tenant.id, [event.slug], event.series)
                if event.status == Publication.PUBLISHED:
                    feed.record(tenant.id, *facts.event_published(event))
            return _with_obstacles(tenant, event, config)
        except (IntegrityError, SlugTaken):
            continue
    raise SlugTaken


def list_page(
    tenant: Tenant,
    page: PageRequest,
    config: Config,
    *,
    status: Publication | None,
    type: EventType | None,
    q: str | None,
    sort: str,
    event_ids: Collection[str] | None = None,
) -> Page[Event]:
    """Return a page of a tenant's events. `q`: text in the title, ASCII letters in any case.

    `event_ids`: only these.
    """
    query = Event.select().where(Event.tenant == tenant)
    if event_ids is not None:
        query = query.where(Event.id.in_(list(event_ids)))
    if status is not None:
        query = query.where(Event.status == status)
    if type is not None:
        query = query.where(Event.type == type)
    if q is not None:
        query = query.where(holds_text(Event.title, q))
    found = paginate(
        query,
        _SORTS[sort.removeprefix("-")],
        page,
        scope=f"events {tenant.id} {status} {type} {q!r}",
        descending=sort.startswith("-"),
    )
    obstacles.add_to_events(tenant, found.data, config)
    images.add_urls(tenant, found.data, config)
    return found


def read(tenant: Tenant, event_id: str, config: Config) -> Event:
    """Return one event with its obstacles. NotFound."""
    return _with_obstacles(tenant, get(tenant.id, event_id), config)


def get(tenant_id: str, event_id: str) -> Event:
    """Return one event of a tenant. NotFound."""
    return _one(_by_id.first(tenant_id=tenant_id, event_id=event_id))


def change(
    tenant: Tenant,
    event_id: str,
    fields: dict[str, Any],
    config: Config,
    *,
    force: bool = False,
    tell_people: bool = True,
) -> Event:
    """Change the given fields. `force` moves an event with tickets into the past.

    `tell_people`: who has a ticket gets a mail about another time or place of a published event.

    NotFound, SlugTaken, SlugFixed, CapacityTooLow, InThePast; Invalid if it ends before it starts,
    or before the doors open, or if its description is too complex.
    """
    try:
        with write_transaction():
            event = lock(tenant.id, event_id)
            slug = fields.get("slug", event.slug)
            if slug != event.slug and event.status != Publication.DRAFT:
                raise SlugFixed
            changed = [name for name, value in fields.items() if getattr(event, name) != value]
            if "waiting_room" in changed:
                opening.switch(event, fields["waiting_room"])
            if "capacity" in fields:
                event_capacity.change(event, fields["capacity"])
            before = event.start_at, event.over_at
            for name, value in fields.items():
                setattr(event, name, value)
            if "description" in changed:
                for name, text in descriptions.columns(event.description).items():
                    setattr(event, name, text)
            check_times({name: getattr(event, name) for name in TIMES})
            if not {"start_at", "end_at"}.isdisjoint(changed):
                if not force and _is_moved_into_the_past(event, *before) and _has_seats(event):
                    raise InThePast
                event.erasure_due_at = event.erased_at = event.erasure_tried_at = None
            _save(event)
            if not {"slug", "series"}.isdisjoint(changed):
                series.check_free(tenant.id, [event.slug], event.series)
            if changed:
                fact = facts.event_changed(event, changed, tell_people=tell_people)
                feed.record(tenant.id, *fact)
    except IntegrityError:
        raise SlugTaken from None
    return _with_obstacles(tenant, event, config)


def change_status(
    tenant: Tenant, event_id: str, status: Publication, config: Config, *, refund: bool | None
) -> Event:
    """Call `set_status`, and return the event with its obstacles."""
    return _with_obstacles(tenant, set_status(tenant.id, event_id, status, refund=refund), config)


def set_status(
    tenant_id: str, event_id: str, status: Publication, *, refund: bool | None = None
) -> Event:
    """Publish, unpublish or cancel an event. The current status changes nothing.

    A cancelation voids all admissions. With `refund` (None: True) their prices become owed to their
    orders. A second call with `refund` does so for an event that was canceled without refunds.

    NotFound, InvalidTransition; HasIntents for a return to draft if there are payment intents;
    Invalid for a `refund` with another status.
    """
    is_end = status == Publication.CANCELED
    if refund is not None and not is_end:
        text = "Only an event that is canceled is refunded."
        raise Invalid({"refund": [FieldMessage("not_canceled", text)]})
    with write_transaction():
        event = lock(tenant_id, event_id)
        ended = _end(event, refund=refund is not False) if is_end else {}
        if event.status == status:
            return event
        if status not in PUBLICATION_MOVES[Publication(event.status)]:
            raise InvalidTransition
        if status == Publication.DRAFT:
            # A preflight locks its ticket type first. So after this line, none is running.
            list(
                locked(TicketType.select().where(TicketType.event == event).order_by(TicketType.id))
            )
            if PaymentIntent.select().where(PaymentIntent.event == event).exists():
                raise HasIntents
        if event.status == Publication.PUBLISHED:
            stock.note_change_of_event(event.id)
            event.was_published = is_end
        event.status = status
        _save(event)
        feed.record(tenant_id, *_moved(event, ended))
        return event


def _end(event: Event, *, refund: bool) -> dict[str, Any]:
    """Cancel the live orders of a locked event, and void its admissions. Return what ended."""
    if event.status == Publication.CANCELED and not refund:
        return {}
    sale = sale_locks.cancel_sale(TicketType.event == event)
    waiting_ends.cancel(event, TicketType.event == event)
    voided = event_voids.void_all(event.id, sale.cursors, refund=refund)
    return {
        "refund": refund,
        "admissions_voided": voided,
        "intents_canceled": sale.intents_canceled,
    }


def _moved(event: Event, ended: dict[str, Any]) -> Fact:
    """Return the fact that an event has a new status. `ended`: what a cancelation ended."""
    match event.status:
        case Publication.PUBLISHED:
            return facts.event_published(event)
        case Publication.CANCELED:
            return facts.event_canceled(event, **ended)
        case _:
            return facts.event_changed(event, ["status"])


def _with_obstacles(tenant: Tenant, event: Event, config: Config) -> Event:
    obstacles.add_to_events(tenant, [event], config)
    images.add_urls(tenant, [event], config)
    return event


def lock(tenant_id: str, event_id: str) -> Event:
    """Return an event, and keep others from changing it until the transaction ends. NotFound."""
    return _one(locked(_select(tenant_id, event_id)).first())


def _save(event: Event) -> None:
    event.updated_at = clock.now()
    event.save(only=event.dirty_fields)
    catalog_version.advance(event.tenant_id)


def _one(event: Event | None) -> Event:
    if event is None:
        raise NotFound("This event does not exist.")
    return event


def check_times(times: Mapping[str, datetime | None]) -> None:
    """Check the times of an event against each other. Invalid."""
    end_at = times["end_at"]
    if end_at is None:
        return
    faults = {
        name: [FieldMessage("after_end", "Must not be after end_at.")]
        for name in ("doors_open_at", "transfers_end_at")
        if (time := times[name]) is not None and time > end_at
    }
    start_at = times["start_at"]
    if start_at is not None and end_at <= start_at:
        faults["end_at"] = [FieldMessage("event_end", "Must be after start_at.")]
    if faults:
        raise Invalid(faults)


def _is_moved_into_the_past(event: Event, start_at: datetime, over_at: datetime) -> bool:
    """Return whether a changed event began or is over, but was not so early at the old times."""
    now = clock.now()
    return bool(event.start_at <= now < start_at or event.over_at <= min(now, over_at))


def _has_seats(event: Event) -> bool:
    """Return whether tickets are held or sold."""
    taken = TicketType.held + TicketType.sold > 0
    return bool(TicketType.select().where(TicketType.event == event, taken).exists())


def _slugs_from(title: str) -> Iterator[str]:
    """Yield the title's slug, then the same slug with random suffixes."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    slug = _NOT_IN_SLUG.sub("-", plain).strip("-") or "event"
    yield slug[:MAX_SLUG].strip("-")
    for _ in range(3):
        tail = ids.new("")[-8:]
        yield f"{slug[: MAX_SLUG - 9].strip('-')}-{tail}"
