"""Schemas of chains."""

from schemas.base import EXAMPLE_TOKEN, BaseSchema, ListOf, Number, String, YesNo


class ChainSchema(BaseSchema):
    """A chain on which buyers can pay."""

    chain_id = Number(8453, "EIP-155 id.")
    name = String("Base")
    token_address = String(EXAMPLE_TOKEN)
    symbol = String("USDC")
    decimals = Number(6, "The token's decimals.")
    confirmations = Number(30, "After how many blocks a payment is final.")
    has_receivers = YesNo(
        True, "Whether a wallet of an ordinary address can be paid on this chain."
    )


class ChainListSchema(BaseSchema):
    """The chains on which buyers can pay."""

    data = ListOf(ChainSchema)
    next_cursor = String(nullable=True)
