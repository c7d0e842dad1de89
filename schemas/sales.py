"""Schemas of sales figures."""

from enum import StrEnum

from marshmallow import fields

from schemas.base import BaseSchema, Text, documented, one_of
from schemas.checks import Length


class SalesBy(StrEnum):
    """The periods by which sales are counted."""

    DAY = "day"


class SalesQuery(BaseSchema):
    """Which sales to count."""

    event_id = Text(load_default=None, allow_none=False, validate=Length(1, 80))
    by = one_of(SalesBy, load_default=SalesBy.DAY)


class SalesOfDaySchema(BaseSchema):
    """The orders that were confirmed on one day."""

    day = fields.Date(
        required=True, metadata=documented("2026-11-21", "In the event's time zone, else in UTC.")
    )
    orders = fields.Integer(required=True, metadata=documented(12))
    tickets = fields.Integer(
        required=True, metadata=documented(31, "Valid tickets: without those that were voided.")
    )
    merchandise = fields.Integer(
        required=True,
        metadata=documented(4, "The same of ticket types that let nobody in. They are no tickets."),
    )
    amount = fields.Integer(
        required=True, metadata=documented(157_000_000, "What the orders cost, in micro-units.")
    )
    kept = fields.Integer(
        required=True,
        metadata=documented(150_000_000, "What the organizer keeps of it, in micro-units."),
    )
    owed = fields.Integer(
        required=True, metadata=documented(2_000_000, "What is due to the buyers now.")
    )
    refunded = fields.Integer(
        required=True, metadata=documented(5_000_000, "What was paid back to them.")
    )


class SalesSchema(BaseSchema):
    """The sales of the last 366 days, the oldest day first. Days without sales are left out."""

    data = fields.List(fields.Nested(SalesOfDaySchema), required=True)
