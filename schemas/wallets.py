"""Schemas of wallets."""

from marshmallow import fields

from schemas.base import EXAMPLE_ADDRESS, BaseSchema, Text, documented
from schemas.checks import Length

_EXAMPLE_XPUB = (
    "xpub6Ce9NcJvTk36xtLSrJLZqE7wtgA5deCeYs7rSQtreh4cj6ByPtrg9sD7V2FNFLPnf8heNP3FGkeV9qwfzvZ"
    "NSd54JoNXVsXFYSYwHsnJxqP"
)


class WalletSetSchema(BaseSchema):
    """The request to set the account that receives payments."""

    xpub = Text(
        required=True,
        validate=Length(1, 200),
        metadata={
            "example": _EXAMPLE_XPUB,
            "description": (
                "Extended public key (BIP-32) of an account with no other use, for example"
                " m/44'/60'/7'."
            ),
            "pattern": "^xpub[1-9A-HJ-NP-Za-km-z]{107}$",
        },
    )


class WalletSchema(BaseSchema):
    """The account that receives payments."""

    xpub = fields.String(required=True, metadata=documented(_EXAMPLE_XPUB))
    first_address = fields.String(
        required=True,
        metadata=documented(
            EXAMPLE_ADDRESS,
            "The address at 0/0 of the account. Compare it with your wallet. No order gets it.",
        ),
    )
    next_index = fields.Integer(
        required=True,
        metadata=documented(17, "Index of the next address to issue. The first is 1."),
    )


class WalletSetAnswerSchema(WalletSchema):
    """The account that receives payments from now on."""

    unchecked_chains = fields.List(
        fields.Integer(),
        required=True,
        metadata=documented(
            [],
            "Enabled chains that could not be read. The account may be in use there.",
        ),
    )
