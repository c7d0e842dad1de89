"""Chains on the wire."""

from marshmallow import fields

from schemas.base import BaseSchema


class ChainSchema(BaseSchema):
    """A chain that can be paid on."""

    chain_id = fields.Integer(required=True, metadata={"description": "EIP-155 id."})
    name = fields.String(required=True)
    token_address = fields.String(required=True)
    symbol = fields.String(required=True)
    decimals = fields.Integer(required=True, metadata={"description": "The token's own."})
    confirmations = fields.Integer(
        required=True, metadata={"description": "Depth at which a payment is final."}
    )

    EXAMPLE = {
        "chain_id": 8453,
        "name": "Base",
        "token_address": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
        "symbol": "USDC",
        "decimals": 6,
        "confirmations": 30,
    }


class ChainListSchema(BaseSchema):
    """The chains that can be paid on."""

    data = fields.List(fields.Nested(ChainSchema), required=True)
    next_cursor = fields.String(required=True, allow_none=True)

    EXAMPLE = {"data": [ChainSchema.EXAMPLE], "next_cursor": None}
