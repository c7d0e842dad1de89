"""Signed transfers of x402 clients, and what became of them."""

from enum import StrEnum

from peewee import BigIntegerField, CompositeKey, ForeignKeyField, IntegerField, TextField

from ticketing.models.base import BaseModel, UtcDateTimeField, literal
from ticketing.models.payment_intents import PaymentIntent


class SettlementState(StrEnum):
    """What is known of a signed transfer: nothing yet, that it was paid, or that it was not."""

    SETTLING = "settling"
    SETTLED = "settled"
    FAILED = "failed"


class Outcome(StrEnum):
    """What a facilitator says about a transfer. It proves nothing."""

    SUBMITTED = "submitted"
    REFUSED = "refused"
    UNKNOWN = "unknown"


class X402Settlement(BaseModel):
    """One signed transfer (EIP-3009) to an order's address. It is written before it is submitted.

    `calls` counts the requests to the facilitator. The worker goes on at `next_at`. `tx_hash` is
    what the facilitator named, and proves nothing. `value` is in atomic units.
    """

    chain_id = BigIntegerField()
    token_address = TextField()
    payer = TextField()
    nonce = TextField()
    intent = ForeignKeyField(PaymentIntent)
    intent_id: str
    value = TextField()
    valid_after = BigIntegerField()
    valid_before = BigIntegerField()
    signature = TextField()
    state = TextField()
    calls = IntegerField()
    next_at = UtcDateTimeField()
    tx_hash = TextField(null=True)
    created_at = UtcDateTimeField()

    class Meta:
        table_name = "x402_settlements"
        primary_key = CompositeKey("chain_id", "token_address", "payer", "nonce")


SETTLING = X402Settlement.state == literal(SettlementState.SETTLING)
"""Transfers whose outcome is not known. They have partial indexes."""
