"""Schemas of deposits. Amounts are micro-units."""

from marshmallow import fields

from schemas.base import BaseSchema, Bool, Instant, documented


class ReleaseSchema(BaseSchema):
    """The request to release the deposits of who came."""

    force = Bool(
        load_default=False,
        metadata={"description": "Ignore devices that have scans to send."},
    )


class DepositSumSchema(BaseSchema):
    """Deposits of some tickets."""

    seats = fields.Integer(required=True, metadata=documented(80))
    orders = fields.Integer(required=True, metadata=documented(52))
    amount = fields.Integer(required=True, metadata=documented(800_000_000))


class DepositsSchema(BaseSchema):
    """What of an event's deposits came back to those who came, and what a release would add."""

    released = fields.Nested(DepositSumSchema, required=True)
    due = fields.Nested(
        DepositSumSchema,
        required=True,
        metadata={"description": "Who came since. A release makes it owed to their orders."},
    )
    not_final = fields.Nested(
        DepositSumSchema,
        required=True,
        metadata={"description": "Who came, and whose payment is not final: in a later release."},
    )
    is_running = fields.Boolean(
        required=True, metadata=documented(False, "A release has not gone through all orders.")
    )
    ran_at = Instant(
        required=True, allow_none=True, metadata={"description": "When the last one began."}
    )
