"""Events on the wire."""

from functools import cache
from typing import Any
from zoneinfo import available_timezones

from marshmallow import ValidationError, fields, validate

from schemas.base import (
    HTTP_URL,
    NOT_BLANK,
    SLUG,
    BaseSchema,
    Instant,
    PageQuery,
    Text,
    Written,
    first_status,
    one_of,
)
from ticketing.constants import EventType, Obstacle, Publication

SORTS = ("created_at", "-created_at", "start_at", "-start_at")


@cache
def _timezones() -> frozenset[str]:
    return frozenset(available_timezones())


def _check_timezone(name: str) -> None:
    if name not in _timezones():
        raise ValidationError("Not an IANA time zone name.")


def _title(**kwargs: Any) -> Text:
    return Text(validate=[validate.Length(1, 200), Written(NOT_BLANK)], **kwargs)


def _slug() -> Text:
    return Text(validate=[validate.Length(1, 80), Written(SLUG)])


def _timezone(**kwargs: Any) -> Text:
    return Text(
        validate=[validate.Length(1, 64), _check_timezone],
        metadata={"description": "An IANA time zone name."},
        **kwargs,
    )


def _join_url(**kwargs: Any) -> Text:
    url = validate.URL(schemes={"http", "https"}, require_tld=False)
    return Text(
        allow_none=True,
        validate=[validate.Length(1, 2048), url, Written(HTTP_URL)],
        metadata={"description": "A URL of http or https."},
        **kwargs,
    )


def _end_at(**kwargs: Any) -> Instant:
    return Instant(allow_none=True, metadata={"description": "After `start_at`."}, **kwargs)


class EventCreateSchema(BaseSchema):
    """A new event. Without a slug, one is made from the title."""

    title = _title(required=True)
    slug = _slug()
    description = Text(load_default="", validate=validate.Length(0, 10_000))
    type = one_of(EventType, required=True)
    venue = Text(load_default=None, allow_none=True, validate=validate.Length(0, 500))
    start_at = Instant(required=True)
    end_at = _end_at(load_default=None)
    timezone = _timezone(required=True)
    online_join_url = _join_url(load_default=None)
    status = first_status()

    EXAMPLE = {
        "title": "Launch Night",
        "slug": "launch-night",
        "description": "Doors open at seven.",
        "type": "online",
        "venue": None,
        "start_at": "2026-12-01T19:00:00Z",
        "end_at": "2026-12-01T21:00:00Z",
        "timezone": "Europe/Berlin",
        "online_join_url": "https://meet.example.org/launch",
        "status": "draft",
    }


class EventChangeSchema(BaseSchema):
    """Fields of an event to be changed; those left out stay as they are."""

    title = _title()
    slug = _slug()
    description = Text(validate=validate.Length(0, 10_000))
    type = one_of(EventType)
    venue = Text(allow_none=True, validate=validate.Length(0, 500))
    start_at = Instant()
    end_at = _end_at()
    timezone = _timezone()
    online_join_url = _join_url()

    EXAMPLE = {
        "title": "Launch Night, second edition",
        "slug": "launch-night-2",
        "description": "Doors open at eight.",
        "type": "hybrid",
        "venue": "Main Hall",
        "start_at": "2026-12-01T20:00:00Z",
        "end_at": "2026-12-01T22:00:00Z",
        "timezone": "Europe/Berlin",
        "online_join_url": "https://meet.example.org/launch",
    }


class StatusSchema(BaseSchema):
    """The status to be entered."""

    status = one_of(Publication, required=True)

    EXAMPLE = {"status": "published"}


class PublicEventSchema(BaseSchema):
    """A published event as anybody may see it."""

    id = fields.String(required=True)
    title = fields.String(required=True)
    slug = fields.String(required=True)
    description = fields.String(required=True)
    type = one_of(EventType, required=True)
    venue = fields.String(required=True, allow_none=True)
    start_at = Instant(required=True)
    end_at = Instant(required=True, allow_none=True)
    timezone = fields.String(required=True)

    EXAMPLE = {
        "id": "evt_01hq3v5m8r2t6w9y1a4c7e0g3j",
        "title": "Launch Night",
        "slug": "launch-night",
        "description": "Doors open at seven.",
        "type": "online",
        "venue": None,
        "start_at": "2026-12-01T19:00:00Z",
        "end_at": "2026-12-01T21:00:00Z",
        "timezone": "Europe/Berlin",
    }


class EventSchema(PublicEventSchema):
    """An event as its organizer sees it."""

    online_join_url = fields.String(required=True, allow_none=True)
    status = one_of(Publication, required=True)
    obstacles = fields.List(
        one_of(Obstacle),
        required=True,
        metadata={"description": "What keeps people from buying right now."},
    )
    created_at = Instant(required=True)
    updated_at = Instant(required=True)

    EXAMPLE = {
        **PublicEventSchema.EXAMPLE,
        "online_join_url": "https://meet.example.org/launch",
        "status": "draft",
        "obstacles": ["not_published", "no_published_ticket_type"],
        "created_at": "2026-11-21T09:00:00Z",
        "updated_at": "2026-11-21T09:00:00Z",
    }


class EventListQuery(PageQuery):
    """Filters and order of the list of events."""

    status = one_of(Publication, load_default=None, allow_none=False)
    type = one_of(EventType, load_default=None, allow_none=False)
    q = Text(
        load_default=None,
        allow_none=False,
        validate=validate.Length(1, 200),
        metadata={"description": "Looked for in titles."},
    )
    sort = Text(load_default="created_at", validate=validate.OneOf(SORTS))
