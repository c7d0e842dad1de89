"""Events on the wire."""

from functools import cache
from zoneinfo import available_timezones

from marshmallow import ValidationError, fields, validate

from schemas.base import (
    HTTP_URL,
    NOT_BLANK,
    SLUG,
    BaseSchema,
    Fields,
    Instant,
    PageQuery,
    Text,
    Written,
    an_id,
    documented,
    first_status,
    one_of,
    optional,
    shown,
)
from ticketing.constants import EventType, Obstacle, Publication

SORTS = ("created_at", "-created_at", "start_at", "-start_at")


@cache
def _timezones() -> frozenset[str]:
    return frozenset(available_timezones())


def _check_timezone(name: str) -> None:
    if name not in _timezones():
        raise ValidationError("Not an IANA time zone name.")


PUBLIC_FIELDS: Fields = {
    "title": Text(
        required=True,
        validate=[validate.Length(1, 200), Written(NOT_BLANK)],
        metadata=documented("Launch Night"),
    ),
    "slug": Text(
        validate=[validate.Length(1, 80), Written(SLUG)], metadata=documented("launch-night")
    ),
    "description": Text(
        load_default="",
        validate=validate.Length(0, 10_000),
        metadata=documented("Doors open at seven."),
    ),
    "type": one_of(EventType, required=True),
    "venue": Text(load_default=None, allow_none=True, validate=validate.Length(0, 500)),
    "start_at": Instant(required=True, metadata=documented("2026-12-01T19:00:00Z")),
    "end_at": Instant(
        load_default=None,
        allow_none=True,
        metadata=documented("2026-12-01T21:00:00Z", "After `start_at`."),
    ),
    "timezone": Text(
        required=True,
        validate=[validate.Length(1, 64), _check_timezone],
        metadata=documented("Europe/Berlin", "An IANA time zone name."),
    ),
}
"""What an organizer says of an event, for everybody."""

FIELDS: Fields = {
    **PUBLIC_FIELDS,
    "online_join_url": Text(
        load_default=None,
        allow_none=True,
        validate=[
            validate.Length(1, 2048),
            validate.URL(schemes={"http", "https"}, require_tld=False),
            Written(HTTP_URL),
        ],
        metadata=documented("https://meet.example.org/launch", "A URL of http or https."),
    ),
}
"""All that an organizer says of an event."""


class EventCreateSchema(BaseSchema):
    """A new event. Without a slug, one is made from the title."""

    status = first_status()

    class Meta:
        include = FIELDS


class EventChangeSchema(BaseSchema):
    """Fields of an event to be changed; those left out stay as they are."""

    class Meta:
        include = optional(FIELDS)


class StatusSchema(BaseSchema):
    """The status to be entered."""

    status = one_of(Publication, required=True)


class PublicEventSchema(BaseSchema):
    """A published event as anybody may see it."""

    id = an_id("evt_")

    class Meta:
        include = shown(PUBLIC_FIELDS)


class EventSchema(BaseSchema):
    """An event as its organizer sees it."""

    id = an_id("evt_")
    status = one_of(Publication, required=True)
    obstacles = fields.List(
        one_of(Obstacle),
        required=True,
        metadata={"description": "What keeps people from buying right now."},
    )
    created_at = Instant(required=True)
    updated_at = Instant(required=True)

    class Meta:
        include = shown(FIELDS)


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
