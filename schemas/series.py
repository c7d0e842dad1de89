"""Schemas of series of events."""

from schemas.base import BaseSchema, Fields, Text, documented, optional, shown
from schemas.checks import NOT_BLANK, SLUG, Length

FIELDS: Fields = {
    "title": Text(
        allow_none=True,
        validate=[Length(1, 200), NOT_BLANK],
        metadata=documented("Pub quiz", "The title of its page. Null: that of its next event."),
    ),
    "description": Text(
        validate=Length(0, 10_000),
        metadata=documented("Every Tuesday, six to a table.", "As that of an event."),
    ),
}


class SeriesSchema(BaseSchema):
    """What the page of a series says."""

    slug = Text(required=True, validate=SLUG, metadata=documented("pub-quiz"))

    class Meta:
        include = shown(FIELDS)


class SeriesChangeSchema(BaseSchema):
    """The fields of a series to change. Missing fields do not change."""

    class Meta:
        include = optional(FIELDS)
