"""Remind people once, before the doors open, of what the organizer asks and they did not answer."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from peewee import ModelSelect

from ticketing import clock
from ticketing.constants import DOORS_BEFORE_START, AdmissionStatus, Publication
from ticketing.db.connection import write_transaction
from ticketing.models.admissions import Admission
from ticketing.models.base import literal
from ticketing.models.events import Event
from ticketing.models.prepared import Prepared
from ticketing.notification_types import MailKind
from ticketing.services.mail import recipients
from ticketing.services.notifications import mail_queue
from ticketing.services.orders import admissions, answers

BEFORE_DOORS = timedelta(hours=72)


@Prepared
def _due(now: Any, soon: Any, soon_started: Any) -> ModelSelect[Event]:
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


def plan() -> bool:
    """Plan the mails of each event whose doors open soon. Return whether there was one.

    One mail for each order, about the tickets that are the buyer's still, and one for each other
    ticket. Who has answered gets none.
    """
    now = clock.now()
    soon = now + BEFORE_DOORS
    due: list[Event] = _due.rows(now=now, soon=soon, soon_started=soon + DOORS_BEFORE_START)
    for event in due:
        with write_transaction():
            claimed = Event.update(questions_reminded_at=now).where(
                Event.id == event.id, Event.questions_reminded_at.is_null()
            )
            if claimed.execute() and now < event.doors_open:
                for rows in _rows(event):
                    mail_queue.add(rows)
    return bool(due)


def _rows(event: Event) -> Iterator[list[dict[str, Any]]]:
    after, orders = "", set[str]()
    while page := list(_page(event.id, after)):
        lacking = answers.incomplete(event, page)
        wanted: dict[str, int | None] = {}
        for each in page:
            if each.id not in lacking:
                continue
            if each.intent_id is None or not admissions.shown_to_buyer(each):
                wanted[each.id] = each.generation
            elif each.intent_id not in orders:
                orders.add(each.intent_id)
                wanted[each.intent_id] = None
        reachable = recipients.reachable(wanted)
        yield [
            mail_queue.new(
                event.tenant_id, MailKind.ANSWERS_MISSING, subject, generation=generation
            )
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
