"""Schemas of series of events."""

from schemas.base import BaseSchema, Fields, Text, optional, shown
from schemas.checks import NOT_BLANK, SLUG, Length

FIELDS: Fields = {
    "title": Text(
        "Pub quiz",
        "The title of its page. Null: that of its next event.",
        allow_none=True,
        validate=[Length(1, 200), NOT_BLANK],
    ),
    "description": Text(
        "Every Tuesday, six to a table.", "As that of an event.", validate=Length(0, 10_000)
    ),
}


class SeriesSchema(BaseSchema):
    """What the page of a series says."""

    slug = Text("pub-quiz", required=True, validate=SLUG)

    class Meta:
        include = shown(FIELDS)


class SeriesChangeSchema(BaseSchema):
    """The fields of a series to change. Missing fields do not change."""

    class Meta:
        include = optional(FIELDS)
