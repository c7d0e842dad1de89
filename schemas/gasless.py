"""Schemas of payments without a network fee: what a payer signs, and the signature."""

from marshmallow import fields

from schemas.base import EXAMPLE_ADDRESS, EXAMPLE_PAYER, EXAMPLE_TOKEN, BaseSchema, Text, documented
from schemas.checks import ADDRESS, Written

_UINT256 = Written(r"^[0-9]{1,78}$", "digits", "Must be a whole number of at most 78 digits.")
_SECONDS = Written(r"^[0-9]{1,18}$", "digits", "Must be a whole number of at most 18 digits.")
_BYTES32 = Written(r"^0x[0-9a-fA-F]{64}$", "hex", "Must be 0x and 64 hexadecimal characters.")
_SIGNATURE = Written(
    r"^0x([0-9a-fA-F]{2}){1,2048}$", "hex", "Must be 0x and 1 to 2048 bytes in hex."
)

_MESSAGE = {
    "from": EXAMPLE_PAYER,
    "to": EXAMPLE_ADDRESS,
    "value": "25000000",
    "validAfter": "0",
    "validBefore": "1795251900",
    "nonce": "0x" + "7b" * 32,
}
_TYPED_DATA = {
    "types": {
        "EIP712Domain": [
            {"name": "name", "type": "string"},
            {"name": "version", "type": "string"},
            {"name": "chainId", "type": "uint256"},
            {"name": "verifyingContract", "type": "address"},
        ],
        "TransferWithAuthorization": [
            {"name": "from", "type": "address"},
            {"name": "to", "type": "address"},
            {"name": "value", "type": "uint256"},
            {"name": "validAfter", "type": "uint256"},
            {"name": "validBefore", "type": "uint256"},
            {"name": "nonce", "type": "bytes32"},
        ],
    },
    "primaryType": "TransferWithAuthorization",
    "domain": {
        "name": "USD Coin",
        "version": "2",
        "chainId": 8453,
        "verifyingContract": EXAMPLE_TOKEN,
    },
    "message": _MESSAGE,
}


class PayerQuery(BaseSchema):
    """Who signs."""

    payer = Text(
        EXAMPLE_PAYER, "The account that signs and pays: `from`.", required=True, validate=ADDRESS
    )


class ToSignSchema(BaseSchema):
    """What a payer signs with `eth_signTypedData_v4`."""

    typed_data = fields.Dict(
        required=True,
        metadata=documented(
            _TYPED_DATA,
            "EIP-712: a `TransferWithAuthorization` (EIP-3009) of exactly what is due, in atomic"
            " units of the token, to the order's address. Its numbers are texts.",
        ),
    )


class SignedTransferSchema(BaseSchema):
    """A signed transfer: the members of the `message` that was signed, and the signature."""

    class Meta:
        include = {
            "from": Text(_MESSAGE["from"], required=True, validate=ADDRESS),
            "to": Text(_MESSAGE["to"], required=True, validate=ADDRESS),
            "value": Text(_MESSAGE["value"], required=True, validate=_UINT256),
            "validAfter": Text("0", required=True, validate=_SECONDS),
            "validBefore": Text(_MESSAGE["validBefore"], required=True, validate=_SECONDS),
            "nonce": Text(_MESSAGE["nonce"], required=True, validate=_BYTES32),
        }

    signature = Text(
        "0x" + "5d" * 64 + "1b",
        "What the payer's wallet returned.",
        required=True,
        validate=_SIGNATURE,
    )
