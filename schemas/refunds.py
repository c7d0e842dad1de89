"""Refunds owed on the wire. Amounts are micro-units."""

from marshmallow import fields

from schemas.base import BaseSchema, Text, Written


class RefundSchema(BaseSchema):
    """What is due back for one intent."""

    intent_id = fields.String(required=True, attribute="intent.id")
    amount = fields.Integer(required=True, attribute="amount")
    refunded = fields.Integer(
        required=True,
        attribute="intent.refunded",
        metadata={"description": "What was given back already."},
    )
    currency = fields.String(required=True, attribute="intent.currency")
    chain_id = fields.Integer(required=True, attribute="intent.chain_id")
    token_address = fields.String(required=True, attribute="intent.token_address")
    senders = fields.List(
        fields.String(),
        required=True,
        metadata={"description": "Where the payments came from. An exchange's is not its buyer's."},
    )

    EXAMPLE = {
        "intent_id": "pi_01hq3v5m8r2t6w9y1a4c7e0g3j",
        "amount": 5_000_000,
        "refunded": 0,
        "currency": "USDC",
        "chain_id": 8453,
        "token_address": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
        "senders": ["0x70997970C51812dc3A010C7d01b50e0d17dc79C8"],
    }


class RefundSettleSchema(BaseSchema):
    """The transaction that gave it back."""

    tx_hash = Text(required=True, validate=Written(r"^0x[0-9a-f]{64}$"))

    EXAMPLE = {"tx_hash": "0x" + "ab" * 32}
