"""Schemas of refunds. Amounts are micro-units."""

from marshmallow import fields

from schemas.base import (
    EXAMPLE_PAYER,
    EXAMPLE_TOKEN,
    EXAMPLE_TX_HASH,
    BaseSchema,
    Text,
    Written,
    an_id,
    documented,
)
from ticketing.constants import CURRENCY


class RefundSchema(BaseSchema):
    """The refund that is due for one intent."""

    intent_id = an_id("pi_", attribute="intent.id")
    amount = fields.Integer(required=True, metadata=documented(5_000_000))
    refunded = fields.Integer(
        required=True,
        attribute="intent.refunded",
        metadata=documented(0, "The amount that was paid back already."),
    )
    currency = fields.String(
        required=True, attribute="intent.currency", metadata=documented(CURRENCY)
    )
    chain_id = fields.Integer(required=True, attribute="intent.chain_id", metadata=documented(8453))
    token_address = fields.String(
        required=True, attribute="intent.token_address", metadata=documented(EXAMPLE_TOKEN)
    )
    senders = fields.List(
        fields.String(),
        required=True,
        metadata=documented(
            [EXAMPLE_PAYER],
            "The senders of the payments. An exchange's address is not the buyer's.",
        ),
    )


class RefundSettleSchema(BaseSchema):
    """The transaction that paid the refund."""

    tx_hash = Text(
        required=True,
        validate=Written(r"^0x[0-9a-f]{64}$"),
        metadata=documented(EXAMPLE_TX_HASH),
    )
