"""Schemas of health and readiness."""

from schemas.base import BaseSchema, ListOf, Moment, Number, String, YesNo


class HealthSchema(BaseSchema):
    """The process responds."""

    status = String("ok")


class CursorSchema(BaseSchema):
    """How far the worker has read a chain."""

    chain_id = Number(8453)
    block_number = Number(21_000_000, nullable=True)
    block_time = Moment(example="2026-11-21T09:02:00Z", nullable=True)
    age_seconds = Number(
        2, "Seconds since the worker last read the chain. Null: never.", nullable=True
    )
    refusal = String(description="Why the worker does not watch this chain.", nullable=True)
    facilitator_refusal = String(
        description="Why x402 is off, although the chain has a facilitator.", nullable=True
    )
    note = String(description="What the operator can improve.", nullable=True)


_STATUS = "`ready`, `read_only` (the database cannot be written: its disk is full) or `not_ready`."


class ReadinessSchema(BaseSchema):
    """Whether the service is ready."""

    status = String("ready", _STATUS)
    version = String("1.1.0", "The release of the process that answers.")
    database = YesNo(description="The database responds.")
    migrations = YesNo(description="All are applied.")
    writable = YesNo(description="A row was written in the last few seconds.")
    chains = ListOf(CursorSchema)
