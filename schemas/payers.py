"""The schema of what a page or a storefront tells about who pays."""

from schemas.base import EXAMPLE_PAYER, EXAMPLE_TX_HASH, BaseSchema, Int, Text, documented
from schemas.checks import ADDRESS, TX_HASH, Range
from ticketing.constants import MAX_SAFE_INTEGER


class PayerReportSchema(BaseSchema):
    """Which account pays, and in which transaction."""

    account = Text(
        required=True,
        validate=ADDRESS,
        metadata=documented(
            EXAMPLE_PAYER, "It has sent the transaction. EIP-55, or all lower case."
        ),
    )
    tx_hash = Text(
        required=True,
        validate=TX_HASH,
        metadata=documented(EXAMPLE_TX_HASH, "What its wallet has answered."),
    )
    chain_id = Int(
        required=True,
        validate=Range(1, MAX_SAFE_INTEGER),
        metadata=documented(8453, "The network of the transaction."),
    )
