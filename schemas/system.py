"""Schemas of health and readiness."""

from marshmallow import fields

from schemas.base import BaseSchema, Instant, documented


class HealthSchema(BaseSchema):
    """The process responds."""

    status = fields.String(required=True, metadata=documented("ok"))


class CursorSchema(BaseSchema):
    """How far the worker has read a chain."""

    chain_id = fields.Integer(required=True, metadata=documented(8453))
    block_number = fields.Integer(required=True, allow_none=True, metadata=documented(21_000_000))
    block_time = Instant(
        required=True, allow_none=True, metadata=documented("2026-11-21T09:02:00Z")
    )
    age_seconds = fields.Integer(
        required=True,
        allow_none=True,
        metadata=documented(2, "Seconds since the worker last read the chain. Null: never."),
    )
    refusal = fields.String(
        required=True,
        allow_none=True,
        metadata={"description": "Why the worker does not watch this chain."},
    )
    facilitator_refusal = fields.String(
        required=True,
        allow_none=True,
        metadata={"description": "Why x402 is off, although the chain has a facilitator."},
    )
    note = fields.String(
        required=True,
        allow_none=True,
        metadata={"description": "What the operator can improve."},
    )


_STATUS = "`ready`, `read_only` (the database cannot be written: its disk is full) or `not_ready`."


class ReadinessSchema(BaseSchema):
    """Whether the service is ready."""

    status = fields.String(required=True, metadata=documented("ready", _STATUS))
    version = fields.String(
        required=True, metadata=documented("1.1.0", "The release of the process that answers.")
    )
    database = fields.Boolean(required=True, metadata={"description": "The database responds."})
    migrations = fields.Boolean(required=True, metadata={"description": "All are applied."})
    writable = fields.Boolean(
        required=True, metadata={"description": "A row was written in the last few seconds."}
    )
    chains = fields.List(fields.Nested(CursorSchema), required=True)
