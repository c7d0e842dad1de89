"""Remind the people of an event once: of what they did not answer, and that it begins soon."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from peewee import Field, ModelSelect

from ticketing import clock
from ticketing.constants import DOORS_BEFORE_START, AdmissionStatus, Publication
from ticketing.db.connection import write_transaction
from ticketing.models.admissions import Admission
from ticketing.models.base import literal
from ticketing.models.events import Event
from ticketing.models.prepared import Prepared
from ticketing.notification_types import MAX_REMINDER_HOURS, MailKind
from ticketing.services.mail import recipients
from ticketing.services.notifications import mail_queue
from ticketing.services.orders import admissions, answers

BEFORE_DOORS = timedelta(hours=72)
"""When people are asked for answers that are missing."""


@Prepared
def _asks(now: Any, soon: Any, soon_started: Any) -> ModelSelect[Event]:
    opens_soon = (Event.doors_open_at <= soon) | (
        Event.doors_open_at.is_null() & (Event.start_at <= soon_started)
    )
    # The partial index on events with questions contains the first two conditions.
    return Event.select().where(
        Event.attendee_questions > literal(0),
        Event.questions_reminded_at.is_null(),
        Event.start_at > now,
        Event.status == Publication.PUBLISHED,
        opens_soon,
    )


@Prepared
def _begins(now: Any, soon: Any) -> ModelSelect[Event]:
    # The partial index on events with reminders contains the first two conditions.
    return Event.select().where(
        Event.reminder_hours.is_null(False),
        Event.reminded_at.is_null(),
        Event.start_at > now,
        Event.start_at <= soon,
        Event.status == Publication.PUBLISHED,
    )


def plan() -> None:
    """Plan the mails of each event whose doors open soon, and of each that begins soon.

    One mail for each order, about the tickets that are the buyer's still, and one for each other
    ticket. Who has answered is not asked. If an event moves before, so does what it plans.
    """
    now = clock.now()
    soon = now + BEFORE_DOORS
    asks: list[Event] = _asks.rows(now=now, soon=soon, soon_started=soon + DOORS_BEFORE_START)
    for event in asks:
        _plan(event, Event.questions_reminded_at, MailKind.ANSWERS_MISSING, until=event.doors_open)
    begins: list[Event] = _begins.rows(now=now, soon=now + timedelta(hours=MAX_REMINDER_HOURS))
    for event in begins:
        if event.start_at <= now + timedelta(hours=event.reminder_hours or 0):
            _plan(event, Event.reminded_at, MailKind.REMINDER, until=event.start_at)


def _plan(event: Event, done: Field[Any], kind: MailKind, *, until: datetime) -> None:
    """Plan the mails of one event, unless another process has done that, or it is too late."""
    now = clock.now()
    with write_transaction():
        claimed = Event.update({done: now}).where(Event.id == event.id, done.is_null())
        if claimed.execute() and now < until:
            for rows in _rows(event, kind):
                mail_queue.add(rows)


def _rows(event: Event, kind: MailKind) -> Iterator[list[dict[str, Any]]]:
    after, orders = "", set[str]()
    while page := list(_page(event.id, after)):
        told = {each.id for each in page}
        if kind is MailKind.ANSWERS_MISSING:
            told = set(answers.incomplete(event, page))
        wanted: dict[str, int | None] = {}
        for each in page:
            if each.id not in told:
                continue
            if each.intent_id is None or not admissions.shown_to_buyer(each):
                wanted[each.id] = each.generation
            elif each.intent_id not in orders:
                orders.add(each.intent_id)
                wanted[each.intent_id] = None
        reachable = recipients.reachable(wanted)
        yield [
            mail_queue.new(event.tenant_id, kind, subject, generation=generation)
            for subject, generation in wanted.items()
            if subject in reachable
        ]
        after = page[-1].id


def _page(event_id: str, after: str) -> ModelSelect[Admission]:
    found = Admission.select().where(
        Admission.event == event_id,
        Admission.id > after,
        Admission.status == AdmissionStatus.VALID,
        Admission.redeemed_at.is_null(),
    )
    return found.order_by(Admission.id).limit(recipients.AT_ONCE)
