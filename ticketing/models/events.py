"""Events."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, TypedDict

from peewee import (
    AnyField,
    BigIntegerField,
    BooleanField,
    ForeignKeyField,
    IntegerField,
    ModelSelect,
    TextField,
)

from ticketing.constants import (
    DOORS_BEFORE_START,
    EPOCH,
    OVER_AFTER_START,
    RETURNS_END_BEFORE_DOORS,
    Obstacle,
    Visibility,
)
from ticketing.deposits import DepositsRelease
from ticketing.models.base import BaseModel, UtcDateTimeField
from ticketing.models.tenants import Tenant
from ticketing.waiting_list import DEFAULT_HOURS
from ticketing.waiting_room import WaitingRoomMode

_LATEST = datetime.max.replace(tzinfo=UTC)


class Crowd(TypedDict):
    """A network (CIDR) whose people may order so many seats of an event together."""

    network: str
    seats: int


class CrowdsField(AnyField):
    """The crowds of an event, as JSON. NULL: none."""

    field_type = "TEXT"

    def db_value(self, value: Sequence[Crowd]) -> str | None:
        """Convert crowds for the database."""
        return json.dumps(value) if value else None

    def python_value(self, value: str | None) -> list[Crowd]:
        """Convert what is stored to crowds."""
        return json.loads(value) if value else []


class Event(BaseModel):
    """An event of a tenant.

    `description_html`, `description_plain`: its description, converted. See
    services/catalog/descriptions.py.
    `capacity` limits all its ticket types together (None: no limit). EventStock counts them.
    `carts`: one order may have several ticket types. `order_questions` counts the questions that
    are asked before an order, `attendee_questions` those that each ticket is asked. Archived ones
    do not count. `questions_reminded_at`: when mails were planned to those who had not answered.
    `reminder_hours`: how long before the start its people get a mail with their tickets (None:
    none). `reminded_at`: when these mails were planned.
    `waiting_list_hours`: how long a seat is held for somebody who waited for it.
    `deposits_release`: who releases deposits (a DepositsRelease). `deposits_run_at`: when the last
    release began. While it is running (`deposits_running`), the worker goes through the orders that
    were tried before.
    `crowds`: networks from which many people order (services/orders/crowds.py).
    `waiting_room`: when its waiting room opens (a WaitingRoomMode). `is_queueing`: it is open.
    `image_digest`: its picture, of the table `images`.
    `series`: the name of the series that it belongs to, which is the address of its page.
    `was_published`: whether it was published when it was canceled. If so, its page stays.
    `erasure_due_at`: since when it was due for erasure at each look. None: it is not.
    `erased_at`: when the personal data of all its people was erased. `erasure_tried_at`: the last
    try, which leaves out orders that owe a refund.
    """

    id = TextField(primary_key=True)
    tenant = ForeignKeyField(Tenant)
    tenant_id: str
    title = TextField()
    slug = TextField()
    description = TextField()
    description_html = TextField(null=True)
    description_plain = TextField(null=True)
    type = TextField()
    venue = TextField(null=True)
    start_at = UtcDateTimeField()
    end_at = UtcDateTimeField(null=True)
    timezone = TextField()
    online_join_url = TextField(null=True)
    capacity = BigIntegerField(null=True)
    carts = BooleanField(default=False)
    order_questions = IntegerField(default=0)
    attendee_questions = IntegerField(default=0)
    questions_reminded_at = UtcDateTimeField(null=True)
    reminder_hours = IntegerField(null=True)
    reminded_at = UtcDateTimeField(null=True)
    doors_open_at = UtcDateTimeField(null=True)
    transfers_end_at = UtcDateTimeField(null=True)
    waiting_list_hours = IntegerField(default=DEFAULT_HOURS)
    deposits_release = TextField(default=DepositsRelease.AUTOMATIC)
    deposits_run_at = UtcDateTimeField(null=True)
    deposits_running = BooleanField(default=False)
    crowds = CrowdsField(null=True, default=list)
    waiting_room = TextField(default=WaitingRoomMode.AUTO)
    is_queueing = BooleanField(default=False)
    image_digest = TextField(null=True)
    status = TextField()
    visibility = TextField(default=Visibility.PUBLIC)
    locale = TextField(null=True)
    series = TextField(null=True)
    was_published = BooleanField(default=False)
    erasure_due_at = UtcDateTimeField(null=True)
    erased_at = UtcDateTimeField(null=True)
    erasure_tried_at = UtcDateTimeField(null=True)
    created_at = UtcDateTimeField()
    updated_at = UtcDateTimeField()

    # No columns: services.catalog sets these for responses.
    obstacles: Sequence[Obstacle]
    held: int
    sold: int
    image_url: str | None
    questions: Sequence[Any]

    class Meta:
        table_name = "events"

    @property
    def available(self) -> int | None:
        """How many tickets can still be held, over all ticket types. None: unlimited."""
        return None if self.capacity is None else self.capacity - self.held - self.sold

    @property
    def is_unlisted(self) -> bool:
        """Whether it is in no list, and search engines leave it out."""
        return bool(self.visibility == Visibility.UNLISTED)

    @property
    def over_at(self) -> datetime:
        """When it is over, and nothing of it is sold any more: as set, or after the start."""
        after_start = min(OVER_AFTER_START, _LATEST - self.start_at)
        over: datetime = self.end_at or self.start_at + after_start
        return over

    @property
    def doors_open(self) -> datetime:
        """When the doors open: as set, or some time before the start."""
        opens: datetime = self.doors_open_at or max(EPOCH, self.start_at - DOORS_BEFORE_START)
        return opens

    @property
    def returns_end(self) -> datetime:
        """Until when seats can be given back: some hours before the doors open."""
        return self.doors_open - RETURNS_END_BEFORE_DOORS

    @property
    def transfers_end(self) -> datetime:
        """When transfers end: as set, or when the doors open."""
        ends: datetime = self.transfers_end_at or self.doors_open
        return ends


def only_event(tenant_id: str, event_id: str) -> ModelSelect[Event]:
    """Select the id of this event if it belongs to the tenant, for use in a subquery."""
    return Event.select(Event.id).where(Event.id == event_id, Event.tenant == tenant_id)
