"""Schemas of payouts: refunds that an organizer signs. Amounts are micro-units."""

from marshmallow import fields

from schemas.base import (
    EXAMPLE_ADDRESS,
    EXAMPLE_PAYER,
    EXAMPLE_TOKEN,
    EXAMPLE_TX_HASH,
    BaseSchema,
    Instant,
    Int,
    Text,
    an_id,
    documented,
)
from schemas.checks import ADDRESS, Range
from ticketing.constants import MAX_SAFE_INTEGER

EXAMPLE_ID = "0x" + "cd" * 32
_INTENT = "pi_"


def _purpose() -> fields.String:
    description = (
        "`deploy`: creates the factory, which has no code on this network yet. `approve`: lets the"
        " factory spend `sum` of the payer's. `refund`: pays."
    )
    return fields.String(required=True, metadata=documented("refund", description))


class PayoutCreateSchema(BaseSchema):
    """The network, and the account that will sign."""

    chain_id = Int(
        required=True,
        validate=Range(1, MAX_SAFE_INTEGER),
        metadata=documented(8453, "An enabled network that has receivers."),
    )
    token = Text(
        load_default=None,
        allow_none=True,
        validate=ADDRESS,
        metadata=documented(None, "An earlier token of this network. Null: its present one."),
    )
    payer = Text(
        required=True,
        validate=ADDRESS,
        metadata=documented(
            EXAMPLE_ADDRESS, "It signs, and pays its tokens. EIP-55 or lower case."
        ),
    )


class PayoutStepSchema(BaseSchema):
    """One transaction to sign. Its value is 0."""

    purpose = _purpose()
    to = fields.String(required=True, metadata=documented(EXAMPLE_TOKEN, "The contract."))
    data = fields.String(required=True, metadata=documented("0x095ea7b3", "The call data."))
    orders = fields.Integer(required=True, metadata=documented(2, "How many orders it is for."))
    amount = fields.Integer(required=True, metadata=documented(12_000_000))


class PayoutPaymentSchema(BaseSchema):
    """One payment of the list."""

    intent_id = an_id(_INTENT)
    id = fields.String(
        required=True,
        attribute="payment.id",
        metadata=documented(EXAMPLE_ID, "The factory accepts it once from this payer."),
    )
    to = fields.String(
        required=True,
        attribute="payment.to",
        metadata=documented(EXAMPLE_PAYER, "The address that the buyer stated."),
    )
    amount = fields.Integer(required=True, metadata=documented(5_000_000))


class BlockedPayoutSchema(BaseSchema):
    """An order that cannot be paid now."""

    intent_id = an_id(_INTENT)
    reason = fields.String(
        required=True,
        metadata=documented(
            "transfer_refused",
            "`transfer_refused`: the token refuses it; its issuer may have frozen the address."
            " `already_paid`: it was paid, and that is not final or not booked yet.",
        ),
    )
    tx_hash = fields.String(
        required=True,
        allow_none=True,
        metadata=documented(None, "The transaction that paid it, if it is known."),
    )


class PayoutOfAnotherSchema(BaseSchema):
    """An order on the list of another payer."""

    intent_id = an_id(_INTENT)
    payer = fields.String(required=True, metadata=documented(EXAMPLE_PAYER))
    until = Instant(
        required=True,
        metadata={"description": "The end of that list. It must be final on the network."},
    )


class UnbookedPayoutSchema(BaseSchema):
    """A payment of a list that was made, and does not count as a refund."""

    intent_id = an_id(_INTENT)
    id = fields.String(required=True, metadata=documented(EXAMPLE_ID))
    tx_hash = fields.String(required=True, metadata=documented(EXAMPLE_TX_HASH))
    to = fields.String(required=True, metadata=documented(EXAMPLE_PAYER))
    reason = fields.String(
        required=True,
        metadata=documented(
            "nothing_due",
            "`nothing_due`: it counts as soon as something is due. `surplus`: so does the rest of"
            " it. `other_payee`: neither a payer"
            " nor an address that the buyer stated. `other_token`, `no_transfer`: it never counts.",
        ),
    )


class SafeStepSchema(BaseSchema):
    """One transaction, as Safe's Transaction Builder reads it."""

    to = fields.String(required=True, metadata=documented(EXAMPLE_TOKEN))
    value = fields.String(required=True, metadata=documented("0"))
    data = fields.String(required=True, metadata=documented("0x095ea7b3"))


class SafeMetaSchema(BaseSchema):
    """What Safe's Transaction Builder shows of a file."""

    name = fields.String(required=True, metadata=documented("Refunds"))


class SafeFileSchema(BaseSchema):
    """The same transactions as a file for Safe's Transaction Builder."""

    version = fields.String(required=True, metadata=documented("1.0"))
    chainId = fields.String(required=True, metadata=documented("8453"))
    createdAt = fields.Integer(required=True, metadata=documented(1_700_000_000_000))
    meta = fields.Nested(SafeMetaSchema, required=True)
    transactions = fields.List(fields.Nested(SafeStepSchema), required=True)


class PayoutListSchema(BaseSchema):
    """What the payer signs, and which orders are left out."""

    chain_id = fields.Integer(required=True, metadata=documented(8453))
    token_address = fields.String(required=True, metadata=documented(EXAMPLE_TOKEN))
    payer = fields.String(required=True, metadata=documented(EXAMPLE_ADDRESS))
    factory = fields.String(
        required=True, metadata=documented(EXAMPLE_ADDRESS, "The contract that pays the list.")
    )
    valid_before = Instant(
        required=True, metadata={"description": "After this moment, the list cannot be paid."}
    )
    sum = fields.Integer(required=True, metadata=documented(12_000_000))
    balance = fields.Integer(
        required=True, metadata=documented(20_000_000, "What the payer has, 2^53 - 1 at most.")
    )
    allowance = fields.Integer(
        required=True,
        metadata=documented(0, "What the factory may spend of it, 2^53 - 1 at most."),
    )
    transactions = fields.List(
        fields.Nested(PayoutStepSchema),
        required=True,
        metadata={"description": "To be signed in this order, each after the one before."},
    )
    payments = fields.List(fields.Nested(PayoutPaymentSchema), required=True)
    blocked = fields.List(fields.Nested(BlockedPayoutSchema), required=True)
    listed_for_another = fields.List(fields.Nested(PayoutOfAnotherSchema), required=True)
    unbooked = fields.List(fields.Nested(UnbookedPayoutSchema), required=True)
    left = fields.Integer(
        required=True,
        metadata=documented(0, "Due orders that exceed the balance or the limits of a list."),
    )
    safe = fields.Nested(SafeFileSchema, required=True)
