"""Schemas of sales figures."""

from typing import Any

from marshmallow import ValidationError, fields, validates_schema

from schemas.base import EXAMPLE_ID, BaseSchema, ListOf, Number, String, Text, documented, one_of
from schemas.checks import ALWAYS, Length
from ticketing.constants import SalesBy


class SalesQuery(BaseSchema):
    """Which sales to count."""

    event_id = Text(
        description="Required unless `by` is `day`.",
        load_default=None,
        allow_none=False,
        validate=Length(1, 80),
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
    ticket_id = String(f"tkt_{EXAMPLE_ID}", "By ticket.", required=False)
    name = String("Standard", "By ticket.", required=False)
    voucher_id = String(f"vou_{EXAMPLE_ID}", "By voucher.", required=False)
    code = String(
        "SPONSOR-7K4D", "By voucher. Null with role `read`.", nullable=True, required=False
    )
    tag = String(
        "sponsors",
        "By voucher and tag. Null: vouchers without a tag.",
        nullable=True,
        required=False,
    )
    orders = Number(12)
    tickets = Number(31, "Valid tickets: without those that were voided.")
    merchandise = Number(4, "The same of ticket types that let nobody in. They are no tickets.")
    guests = Number(2, "Valid tickets that were given away. Not by day.", required=False)
    amount = Number(157_000_000, "What the orders or seats cost, in micro-units.")
    discount_amount = Number(
        10_000_000, "How much less than the list prices. Not by day.", required=False
    )
    kept = Number(150_000_000, "What the organizer keeps of it, in micro-units.")
    owed = Number(2_000_000, "By day. What is due to the buyers now.", required=False)
    refunded = Number(5_000_000, "By day. What was paid back to them.", required=False)


class SalesSchema(BaseSchema):
    """Sales. By day: of the last 366 days, the oldest first. What has no sales is left out."""

    data = ListOf(SalesRowSchema)
