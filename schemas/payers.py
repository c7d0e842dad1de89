"""The schema of what a page or a storefront tells about who pays."""

from schemas.base import EXAMPLE_PAYER, EXAMPLE_TX_HASH, BaseSchema, Int, Text
from schemas.checks import ADDRESS, TX_HASH, Range
from ticketing.constants import MAX_SAFE_INTEGER


class PayerReportSchema(BaseSchema):
    """Which account pays, and in which transaction."""

    account = Text(
        EXAMPLE_PAYER,
        "It has sent the transaction. EIP-55, or all lower case.",
        required=True,
        validate=ADDRESS,
    )
    tx_hash = Text(
        EXAMPLE_TX_HASH, "What its wallet has answered.", required=True, validate=TX_HASH
    )
    chain_id = Int(
        8453, "The network of the transaction.", required=True, validate=Range(1, MAX_SAFE_INTEGER)
    )
