"""Copy an event to other dates, with its ticket types and questions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from peewee import Field, IntegrityError, chunked

from ticketing import clock, ids
from ticketing.config import Config
from ticketing.constants import Ask, Publication
from ticketing.db.connection import write_transaction
from ticketing.errors import FieldMessage, Invalid, SlugTaken
from ticketing.models.base import BaseModel, all_but
from ticketing.models.events import Event
from ticketing.models.questions import Question, QuestionOption
from ticketing.models.tenants import Tenant
from ticketing.models.ticket_types import EventStock, TicketType
from ticketing.services import catalog_version, images
from ticketing.services.catalog import events, obstacles, series
from ticketing.services.notifications import facts, feed
from ticketing.services.orders import questions

_EVENT = all_but(
    Event.was_published,
    Event.is_queueing,
    Event.reminded_at,
    Event.questions_reminded_at,
    Event.deposits_run_at,
    Event.deposits_running,
    Event.erasure_due_at,
    Event.erasure_tried_at,
    Event.erased_at,
)
_TICKET_TYPE = all_but(
    TicketType.held,
    TicketType.sold,
    TicketType.offered,
    TicketType.taken,
    TicketType.returned_wanted_at,
    TicketType.waiting,
    TicketType.idle,
    TicketType.event_changes,
)
_QUESTION = all_but(Question.archived_at)
"""What a copy has as the original has it: not what has happened to that."""

_DATE_IN_SLUG = re.compile(r"-[0-9]{4}-[0-9]{2}-[0-9]{2}(-[0-9]{4})?$")
_ROWS_AT_ONCE = 500
"""A statement may have some ten thousand parameters."""

Row = dict[str, Any]


@dataclass
class _Rows:
    """The rows of all copies."""

    events: list[Row] = field(default_factory=list)
    stock: list[Row] = field(default_factory=list)
    ticket_types: list[Row] = field(default_factory=list)
    questions: list[Row] = field(default_factory=list)
    options: list[Row] = field(default_factory=list)


class _Shift:
    """Moves the times of an event to another date, as its clocks show them.

    Example: an event at 20:00 whose sale ends at 18:00 of the same day ends it at 18:00 on the day
    of the copy too, whether summer time began between the two or not.
    """

    def __init__(self, event: Event, start: datetime) -> None:
        self._zone = ZoneInfo(event.timezone)
        self._distance: timedelta = start - self._local(event.start_at)

    def __call__(self, at: datetime | None) -> datetime | None:
        """Return a time of the event on the other date. OverflowError."""
        if at is None:
            return None
        moved = self._local(at) + self._distance
        return moved.replace(tzinfo=self._zone).astimezone(UTC)

    def exists(self, start: datetime) -> bool:
        """Return whether the clocks ever show a time. OverflowError."""
        there_and_back = start.replace(tzinfo=self._zone).astimezone(UTC)
        return self._local(there_and_back) == start

    def _local(self, at: datetime) -> datetime:
        return at.astimezone(self._zone).replace(tzinfo=None)


def copy(
    tenant: Tenant,
    event_id: str,
    starts: Sequence[datetime],
    config: Config,
    *,
    status: Publication,
    series_slug: str | None,
) -> list[Event]:
    """Copy an event to each of these local times, in its time zone. All or none.

    Ticket types that were canceled and questions that are archived are not copied, nor are
    vouchers, orders and devices. Of a time that the clocks show twice, it is the first.
    `series_slug`: the series of all copies, and of an original that has none. None: as the
    original.

    NotFound, SlugTaken; Invalid at a time that the clocks skip, or on which another time of the
    event would be out of order.
    """
    with write_transaction():
        event = events.lock(tenant.id, event_id)
        _join(event, series_slug)
        slugs = _slugs(event.slug, starts)
        own = {"series": series_slug or event.series, "status": status}
        rows = _rows(event, starts, slugs, own)
        try:
            _insert(Event, rows.events)
        except IntegrityError:
            raise SlugTaken from None
        _insert(EventStock, rows.stock)
        _insert(TicketType, rows.ticket_types)
        _insert(Question, rows.questions)
        _insert(QuestionOption, rows.options)
        catalog_version.advance(tenant.id)
        series.check_free(tenant.id, slugs, own["series"])
        copies = _in_order([row["id"] for row in rows.events])
        if status == Publication.PUBLISHED:
            feed.record_all(tenant.id, [facts.event_published(each) for each in copies])
    obstacles.add_to_events(tenant, copies, config)
    images.add_urls(tenant, copies, config)
    return copies


def _join(event: Event, series_slug: str | None) -> None:
    """Put an event that is copied as a series into it, if it is in none."""
    if series_slug is not None and event.series is None:
        event.series = series_slug
        event.updated_at = clock.now()
        event.save(only=event.dirty_fields)
        feed.record(event.tenant_id, *facts.event_changed(event, ["series"]))


def _rows(event: Event, starts: Sequence[datetime], slugs: Sequence[str], own: Row) -> _Rows:
    rows = _Rows()
    is_copied = (TicketType.event == event) & (TicketType.status != Publication.CANCELED)
    types = list(TicketType.select().where(is_copied).order_by(TicketType.id))
    asked = [each for each in questions.of_event(event.id) if not each.archived]
    for place, (start, slug) in enumerate(zip(starts, slugs, strict=True)):
        shift = _Shift(event, start)
        try:
            times = {name: shift(getattr(event, name)) for name in events.TIMES}
            copied = _add_event(rows, event, {**times, **own, "slug": slug})
            type_ids = _add_ticket_types(rows, types, copied, shift)
            if not shift.exists(start):
                raise _wrong(place, "skipped_time", "The clocks skip this time.")
        except OverflowError:
            raise _wrong(place, "time_range", "Must be in the years 1970 to 9999.") from None
        try:
            events.check_times(times)
        except Invalid:
            text = "The event would end before it starts, or before its doors open."
            raise _wrong(place, "event_end", text) from None
        _add_questions(rows, asked, copied, type_ids)
    return rows


def _wrong(place: int, code: str, text: str) -> Invalid:
    return Invalid({f"starts.{place}": [FieldMessage(code, text)]})


def _copied(original: BaseModel, columns: Sequence[Field[Any]]) -> Row:
    """Return the values of some columns. Not by `getattr`: of a foreign key it reads the row."""
    return {column.name: original.__data__[column.name] for column in columns}


def _add_event(rows: _Rows, event: Event, own: Row) -> Row:
    now = clock.now()
    of_all = {"tenant": event.tenant_id, "created_at": now, "updated_at": now}
    copied = {**_copied(event, _EVENT), "id": ids.new(ids.EVENT), **of_all, **own}
    rows.events.append(copied)
    if event.capacity is not None:
        stock = {"event": copied["id"], "capacity": event.capacity, "held": 0, "sold": 0}
        rows.stock.append(stock)
    return copied


def _add_ticket_types(
    rows: _Rows, types: Sequence[TicketType], copied: Row, shift: _Shift
) -> dict[str, str]:
    """Add copies of ticket types. Return the ids of the copies by those of the originals."""
    made = {}
    for each in types:
        made[each.id] = ids.new(ids.TICKET_TYPE)
        rows.ticket_types.append(
            {
                **_copied(each, _TICKET_TYPE),
                "id": made[each.id],
                "tenant": copied["tenant"],
                "event": copied["id"],
                "sales_start_at": shift(each.sales_start_at),
                "sales_end_at": shift(each.sales_end_at),
                "created_at": copied["created_at"],
                "updated_at": copied["created_at"],
            }
        )
    return made


def _add_questions(
    rows: _Rows, asked: Sequence[Question], copied: Row, type_ids: Mapping[str, str]
) -> None:
    """Add copies of questions, except those that are only for ticket types without a copy."""
    for each in asked:
        wanted = each.ticket_id_list
        kept = None if wanted is None else [type_ids[i] for i in wanted if i in type_ids]
        if kept == []:
            copied["order_questions" if each.ask == Ask.ORDER else "attendee_questions"] -= 1
            continue
        question_id = ids.new(ids.QUESTION)
        rows.questions.append(
            {
                **_copied(each, _QUESTION),
                "id": question_id,
                "tenant": copied["tenant"],
                "event": copied["id"],
                "ticket_ids": None if kept is None else " ".join(kept),
                "created_at": copied["created_at"],
                "updated_at": copied["created_at"],
            }
        )
        for option in each.options:
            rows.options.append(
                {
                    "id": ids.new(ids.QUESTION_OPTION),
                    "question": question_id,
                    "position": option.position,
                    "label": option.label,
                }
            )


def _insert(model: type[BaseModel], rows: Sequence[Row]) -> None:
    for some in chunked(rows, _ROWS_AT_ONCE):
        model.insert_many(some).execute()


def _in_order(event_ids: Sequence[str]) -> list[Event]:
    found = {each.id: each for each in Event.select().where(Event.id.in_(event_ids))}
    return [found[each] for each in event_ids]


def _slugs(slug: str, starts: Sequence[datetime]) -> list[str]:
    """Return the name of each copy: that of the original and the date, and if need be the time.

    Example: `quiz-2026-12-24`, or `quiz-2026-12-24-1930` if there are two on that day.
    """
    stem = _DATE_IN_SLUG.sub("", slug)
    days = Counter(start.date() for start in starts)
    dates = [
        start.strftime("%Y-%m-%d-%H%M") if days[start.date()] > 1 else start.date().isoformat()
        for start in starts
    ]
    return [f"{stem[: events.MAX_SLUG - len(date) - 1].rstrip('-')}-{date}" for date in dates]
