"""Schemas of chains."""

from marshmallow import fields

from schemas.base import EXAMPLE_TOKEN, BaseSchema, documented


class ChainSchema(BaseSchema):
    """A chain on which buyers can pay."""

    chain_id = fields.Integer(required=True, metadata=documented(8453, "EIP-155 id."))
    name = fields.String(required=True, metadata=documented("Base"))
    token_address = fields.String(required=True, metadata=documented(EXAMPLE_TOKEN))
    symbol = fields.String(required=True, metadata=documented("USDC"))
    decimals = fields.Integer(required=True, metadata=documented(6, "The token's decimals."))
    confirmations = fields.Integer(
        required=True, metadata=documented(30, "After how many blocks a payment is final.")
    )
    has_receivers = fields.Boolean(
        required=True,
        metadata=documented(
            True, "Whether a wallet of an ordinary address can be paid on this chain."
        ),
    )


class ChainListSchema(BaseSchema):
    """The chains on which buyers can pay."""

    data = fields.List(fields.Nested(ChainSchema), required=True)
    next_cursor = fields.String(required=True, allow_none=True)
