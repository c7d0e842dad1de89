"""What the service says of itself on the wire."""

from marshmallow import fields

from schemas.base import BaseSchema, Instant, documented


class HealthSchema(BaseSchema):
    """The process is up."""

    status = fields.String(required=True, metadata=documented("ok"))


class CursorSchema(BaseSchema):
    """How far a chain has been read."""

    chain_id = fields.Integer(required=True, metadata=documented(8453))
    block_number = fields.Integer(required=True, allow_none=True, metadata=documented(21_000_000))
    block_time = Instant(
        required=True, allow_none=True, metadata=documented("2026-11-21T09:02:00Z")
    )
    age_seconds = fields.Integer(
        required=True,
        allow_none=True,
        metadata=documented(2, "Seconds since the worker last looked; null: never."),
    )
    refusal = fields.String(
        required=True,
        allow_none=True,
        metadata={"description": "Why the worker does not watch this chain."},
    )


class ReadinessSchema(BaseSchema):
    """Whether the service can do its work."""

    status = fields.String(required=True, metadata=documented("ready", "`ready` or `not_ready`."))
    database = fields.Boolean(required=True, metadata={"description": "It answers."})
    migrations = fields.Boolean(required=True, metadata={"description": "They are current."})
    chains = fields.List(fields.Nested(CursorSchema), required=True)
