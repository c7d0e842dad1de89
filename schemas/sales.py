"""Schemas of sales figures."""

from typing import Any

from marshmallow import ValidationError, fields, validates_schema

from schemas.base import EXAMPLE_ID, BaseSchema, Text, documented, one_of
from schemas.checks import ALWAYS, Length
from ticketing.constants import SalesBy


class SalesQuery(BaseSchema):
    """Which sales to count."""

    event_id = Text(
        load_default=None,
        allow_none=False,
        validate=Length(1, 80),
        metadata={"description": "Required unless `by` is `day`."},
    )
    by = one_of(SalesBy, load_default=SalesBy.DAY)

    @validates_schema
    def check_event(self, data: dict[str, Any], **_: Any) -> None:
        """Check that an event is named, for what only events have."""
        if data["by"] != SalesBy.DAY and data.get("event_id") is None:
            raise ValidationError(ALWAYS["required"], "event_id")


class SalesRowSchema(BaseSchema):
    """The orders of one day, or the seats of one ticket type, voucher or tag."""

    day = fields.Date(
        metadata=documented("2026-11-21", "By day. In the event's time zone, else in UTC.")
    )
    ticket_id = fields.String(metadata=documented(f"tkt_{EXAMPLE_ID}", "By ticket."))
    name = fields.String(metadata=documented("Standard", "By ticket."))
    voucher_id = fields.String(metadata=documented(f"vou_{EXAMPLE_ID}", "By voucher."))
    code = fields.String(
        allow_none=True,
        metadata=documented("SPONSOR-7K4D", "By voucher. Null with role `read`."),
    )
    tag = fields.String(
        allow_none=True,
        metadata=documented("sponsors", "By voucher and tag. Null: vouchers without a tag."),
    )
    orders = fields.Integer(required=True, metadata=documented(12))
    tickets = fields.Integer(
        required=True, metadata=documented(31, "Valid tickets: without those that were voided.")
    )
    merchandise = fields.Integer(
        required=True,
        metadata=documented(4, "The same of ticket types that let nobody in. They are no tickets."),
    )
    guests = fields.Integer(
        metadata=documented(2, "Valid tickets that were given away. Not by day.")
    )
    amount = fields.Integer(
        required=True,
        metadata=documented(157_000_000, "What the orders or seats cost, in micro-units."),
    )
    discount_amount = fields.Integer(
        metadata=documented(10_000_000, "How much less than the list prices. Not by day.")
    )
    kept = fields.Integer(
        required=True,
        metadata=documented(150_000_000, "What the organizer keeps of it, in micro-units."),
    )
    owed = fields.Integer(metadata=documented(2_000_000, "By day. What is due to the buyers now."))
    refunded = fields.Integer(metadata=documented(5_000_000, "By day. What was paid back to them."))


class SalesSchema(BaseSchema):
    """Sales. By day: of the last 366 days, the oldest first. What has no sales is left out."""

    data = fields.List(fields.Nested(SalesRowSchema), required=True)
