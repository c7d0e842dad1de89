"""Schemas of events."""

from functools import cache
from typing import Any
from zoneinfo import available_timezones

from marshmallow import validate

from schemas.base import (
    BaseSchema,
    Bool,
    Choice,
    Fields,
    Instant,
    Int,
    Items,
    ListOf,
    LocalTime,
    Moment,
    Number,
    PageQuery,
    Text,
    an_http_url,
    an_id,
    first_status,
    one_of,
    optional,
    shown,
)
from schemas.checks import NOT_BLANK, SLUG, Length, Range, Rule
from schemas.images import image_url
from schemas.locales import a_locale
from schemas.questions import PublicQuestionSchema
from ticketing.constants import MAX_SAFE_INTEGER, EventType, Obstacle, Publication, Visibility
from ticketing.deposits import DepositsRelease
from ticketing.notification_types import MAX_REMINDER_HOURS
from ticketing.waiting_list import DEFAULT_HOURS, MAX_HOURS
from ticketing.waiting_room import WaitingRoomMode

SORTS = ("created_at", "-created_at", "start_at", "-start_at")


@cache
def timezones() -> frozenset[str]:
    """Return the names of all time zones that an event can have."""
    return frozenset(available_timezones())


MAX_COPIES = 60
"""Copies that one request makes."""

_ARE_DISTINCT = Rule(
    lambda times: len(set(times)) == len(times), "distinct_times", "Must not have a time twice."
)
_IS_TIMEZONE = Rule(lambda name: name in timezones(), "timezone", "Not an IANA time zone name.")


PUBLIC_FIELDS: Fields = {
    "title": Text("Launch Night", required=True, validate=[Length(1, 200), NOT_BLANK]),
    "slug": Text("launch-night", validate=[Length(1, 80), SLUG]),
    "description": Text("Doors open at seven.", load_default="", validate=Length(0, 10_000)),
    "type": Choice(EventType),
    "venue": Text(load_default=None, allow_none=True, validate=Length(0, 500)),
    "start_at": Moment(example="2026-12-01T19:00:00Z"),
    "end_at": Instant(
        "Must be after `start_at`.",
        example="2026-12-01T21:00:00Z",
        load_default=None,
        allow_none=True,
    ),
    "timezone": Text(
        "Europe/Berlin",
        "An IANA time zone name.",
        required=True,
        validate=[Length(1, 64), _IS_TIMEZONE],
    ),
    "doors_open_at": Instant(
        "Not after `end_at`. Default: two hours before `start_at`.",
        example="2026-12-01T17:00:00Z",
        load_default=None,
        allow_none=True,
    ),
    "transfers_end_at": Instant(
        "Not after `end_at`. Default: `doors_open_at`.",
        example="2026-12-01T17:00:00Z",
        load_default=None,
        allow_none=True,
    ),
    "locale": a_locale(
        "The language of its pages and mails, around your own texts. Null: the tenant's.",
        load_default=None,
        allow_none=True,
    ),
    "series": Text(
        "pub-quiz",
        "Events that belong together name the same series. It has a page of its own. No event of"
        " the tenant may have this slug.",
        load_default=None,
        allow_none=True,
        validate=[Length(1, 80), SLUG],
    ),
    "carts": Bool(
        description="Whether one order may have several ticket types.", load_default=False
    ),
}
"""The fields that organizers set and the public sees."""

EFFECTIVE_TIMES: Fields = {
    "doors_open_at": Moment(example="2026-12-01T17:00:00Z", attribute="doors_open"),
    "transfers_end_at": Moment(example="2026-12-01T17:00:00Z", attribute="transfers_end"),
}
"""The same two times in a response: as set, or the default."""

FIELDS: Fields = {
    **PUBLIC_FIELDS,
    "online_join_url": an_http_url("https://meet.example.org/launch"),
    "visibility": one_of(
        Visibility,
        "An unlisted event is in no list, and search engines leave it out. Its id, slug and page"
        " work.",
        example="public",
        load_default=Visibility.PUBLIC,
    ),
    "waiting_list_hours": Int(
        DEFAULT_HOURS,
        "How long a seat is held for somebody who waited for it, or half of the time until the"
        " sale ends or the doors open, if that is less.",
        load_default=DEFAULT_HOURS,
        validate=Range(1, MAX_HOURS),
    ),
    "waiting_room": one_of(
        WaitingRoomMode,
        "When people have to wait until it is their turn to order. `auto`: while the service is"
        " overloaded. `on`: also from half an hour before the sale starts, and from the moment"
        " when it is switched on. It closes when nobody waits. `off`: never.",
        example="auto",
        load_default=WaitingRoomMode.AUTO,
    ),
    "deposits_release": one_of(
        DepositsRelease,
        "Whether deposits of who came are released by themselves, 24 hours after the event, and"
        " daily for a week after that.",
        example="automatic",
        load_default=DepositsRelease.AUTOMATIC,
    ),
    "reminder_hours": Int(
        24,
        "So long before the start, people get one mail with their tickets. Null: none.",
        load_default=None,
        allow_none=True,
        validate=Range(1, MAX_REMINDER_HOURS),
    ),
    "capacity": Int(
        500,
        "A limit over all ticket types. Null: unlimited.",
        load_default=None,
        allow_none=True,
        validate=Range(0, MAX_SAFE_INTEGER),
    ),
}
"""All fields that organizers set."""


class EventCreateSchema(BaseSchema):
    """The request to create an event. The default slug is made from the title."""

    status = first_status()

    class Meta:
        include = FIELDS


class EventChangeSchema(BaseSchema):
    """The fields of an event to change. Missing fields do not change."""

    force = Bool(description="Whether to move an event with held or sold tickets into the past.")
    tell_people = Bool(
        description="Whether people with tickets get a mail if the time or the place of a"
        " published event changes. Default: true.",
    )

    class Meta:
        include = optional(FIELDS)


class StatusSchema(BaseSchema):
    """The new status."""

    status = one_of(Publication, required=True)


class EventStatusChangeSchema(StatusSchema):
    """The new status of an event."""

    status = one_of(Publication, example=Publication.CANCELED.value, required=True)
    refund = Bool(
        description="Only with `canceled`: whether the prices of all admissions become owed to"
        " their orders. Default: true.",
    )


def starts(*, least: int, **options: Any) -> Items:
    """Return the field for the local times at which copies of an event begin."""
    return Items(
        LocalTime(),
        "Times as clocks show them in the event's time zone.",
        example=["2026-12-08T19:00", "2026-12-15T19:00"],
        validate=[Length(least, MAX_COPIES, "items"), _ARE_DISTINCT],
        **options,
    )


class EventCopySchema(BaseSchema):
    """The dates to which an event is copied."""

    starts = starts(least=1, required=True)
    status = first_status()
    series = Text(
        "launch-nights",
        "The series of the copies. An original that is in none joins it. Null: that of the"
        " original.",
        load_default=None,
        allow_none=True,
        validate=[Length(1, 80), SLUG],
    )


class PublicEventSchema(BaseSchema):
    """A published event as the public sees it."""

    id = an_id("evt_")
    image_url = image_url()

    class Meta:
        include = shown(PUBLIC_FIELDS) | EFFECTIVE_TIMES


class PublicEventDetailSchema(PublicEventSchema):
    """A published event, with what it asks buyers and attendees."""

    questions = ListOf(PublicQuestionSchema)


class EventSchema(BaseSchema):
    """An event as its organizer sees it."""

    id = an_id("evt_")
    status = Choice(Publication)
    image_url = image_url()
    obstacles = ListOf(one_of(Obstacle), "Why nobody can buy right now. Empty: on sale.")
    held = Number(2, "Seats of all ticket types.")
    sold = Number(40, "Seats of all ticket types.")
    available = Number(458, "Null: unlimited.", nullable=True)
    created_at = Moment()
    updated_at = Moment()

    class Meta:
        include = shown(FIELDS) | EFFECTIVE_TIMES


class EventCopiesSchema(BaseSchema):
    """The copies of an event, in the order of the request."""

    data = ListOf(EventSchema)


class PublicEventListQuery(PageQuery):
    """Which public events are listed."""

    series = Text(
        description="Only the events of this series.",
        load_default=None,
        allow_none=False,
        validate=[Length(1, 80), SLUG],
    )


class EventListQuery(PageQuery):
    """Filters and order of the list of events."""

    status = one_of(Publication, load_default=None, allow_none=False)
    type = one_of(EventType, load_default=None, allow_none=False)
    q = Text(
        description="Text to search for in titles.",
        load_default=None,
        allow_none=False,
        validate=Length(1, 200),
    )
    sort = Text(load_default="created_at", validate=validate.OneOf(SORTS))
