"""Wallets on the wire."""

from marshmallow import fields, validate

from schemas.base import EXAMPLE_ADDRESS, BaseSchema, Text, documented

_EXAMPLE_XPUB = (
    "xpub6Ce9NcJvTk36xtLSrJLZqE7wtgA5deCeYs7rSQtreh4cj6ByPtrg9sD7V2FNFLPnf8heNP3FGkeV9qwfzvZ"
    "NSd54JoNXVsXFYSYwHsnJxqP"
)


class WalletSetSchema(BaseSchema):
    """The account that payments shall go to."""

    xpub = Text(
        required=True,
        validate=validate.Length(1, 200),
        metadata={
            "example": _EXAMPLE_XPUB,
            "description": "Extended public key of the account m/44'/60'/0' (BIP-32).",
            "pattern": "^xpub[1-9A-HJ-NP-Za-km-z]{107}$",
        },
    )


class WalletSchema(BaseSchema):
    """The account that payments go to."""

    xpub = fields.String(required=True, metadata=documented(_EXAMPLE_XPUB))
    first_address = fields.String(
        required=True,
        metadata=documented(EXAMPLE_ADDRESS, "What your wallet shows as its first address."),
    )
    next_index = fields.Integer(
        required=True, metadata=documented(17, "Index of the next address to be issued.")
    )
