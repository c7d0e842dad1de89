"""Schemas of payouts: refunds that an organizer signs. Amounts are micro-units."""

from typing import ClassVar

from marshmallow import fields

from schemas.base import (
    EXAMPLE_ADDRESS,
    EXAMPLE_PAYER,
    EXAMPLE_TOKEN,
    EXAMPLE_TX_HASH,
    BaseSchema,
    Bool,
    Instant,
    Int,
    Items,
    QueryInt,
    Text,
    an_id,
    documented,
    one_of,
)
from schemas.checks import ADDRESS, Length, Range
from ticketing.constants import (
    MAX_SAFE_INTEGER,
    MOST_CHOSEN,
    PayeeCaution,
    PayeeSource,
    PayoutReason,
)

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
    accept_unwitnessed = Bool(
        load_default=False,
        metadata=documented(
            False,
            "Also list orders whose payments no second node has seen. Set it only if you have"
            " looked at these payments yourself, for example on a block explorer.",
        ),
    )
    include_cautioned = Bool(
        load_default=False,
        metadata=documented(False, "Also list orders with cautions: see the preview."),
    )

    class Meta:
        # A schema has an attribute of this name.
        include: ClassVar = {
            "only": Items(
                Text(validate=Length(1, 80)),
                load_default=None,
                allow_none=True,
                validate=Length(1, MOST_CHOSEN, "items"),
                metadata=documented(None, "List only these orders. Null: all."),
            )
        }


class PayoutPreviewQuery(BaseSchema):
    """The network, and the account that will sign."""

    chain_id = QueryInt(
        required=True,
        validate=Range(1, MAX_SAFE_INTEGER),
        metadata=documented(8453, "An enabled network that has receivers."),
    )
    token = Text(
        load_default=None,
        validate=ADDRESS,
        metadata=documented(EXAMPLE_TOKEN, "An earlier token of this network."),
    )
    payer = Text(
        required=True,
        validate=ADDRESS,
        metadata=documented(EXAMPLE_ADDRESS, "It will sign. EIP-55 or lower case."),
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
    """An order that is due and cannot be paid now."""

    intent_id = an_id(_INTENT)
    amount = fields.Integer(required=True, metadata=documented(5_000_000, "What it is due."))
    reason = one_of(
        PayoutReason,
        required=True,
        metadata={
            "description": "`not_covered`: its address and its collections have less than it"
            " received by the books. `nodes_behind`: a node lacks the newest block; retry."
            " `unwitnessed`: no second node has seen its payments. `cautioned`: look at its payee"
            " first. `transfer_refused`: the token refuses the transfer; its issuer may have frozen"
            " the address. `already_paid`: an id of it is used, and the payment is not final, not"
            " booked or not known. `paid_elsewhere`: money went out with an id of it to another"
            " address, or of another amount. `waits_until`: the buyer has stated an address that"
            " doesn't count yet. `no_payee`: nobody has said where to. `by_hand`: you pay it by"
            " hand. `not_final`: the payment isn't final. `not_chosen`: it isn't in `only`."
            " `beyond_balance`: the payer has too little. `below_one_unit`: the token has no unit"
            " so small."
        },
    )
    until = Instant(
        required=True, allow_none=True, metadata={"description": "When that ends by itself."}
    )
    tx_hash = fields.String(
        required=True,
        allow_none=True,
        metadata=documented(None, "The transaction that paid it, if it is known."),
    )
    payer = fields.String(
        required=True, allow_none=True, metadata=documented(None, "Who has used an id of it.")
    )
    payment_id = fields.String(
        required=True, allow_none=True, metadata=documented(None, "The id that is used.")
    )


class PayoutOfAnotherSchema(BaseSchema):
    """An order on the list of another payer."""

    intent_id = an_id(_INTENT)
    amount = fields.Integer(required=True, metadata=documented(5_000_000, "What it is due."))
    payer = fields.String(required=True, metadata=documented(EXAMPLE_PAYER))
    until = Instant(
        required=True,
        metadata={"description": "The end of that list. It must be final on the network."},
    )


class UnbookedPayoutSchema(BaseSchema):
    """A payment with an id of a list that was made, and does not count as a refund."""

    intent_id = an_id(_INTENT)
    id = fields.String(required=True, metadata=documented(EXAMPLE_ID))
    payer = fields.String(required=True, metadata=documented(EXAMPLE_PAYER, "Who paid."))
    tx_hash = fields.String(required=True, metadata=documented(EXAMPLE_TX_HASH))
    to = fields.String(required=True, metadata=documented(EXAMPLE_PAYER))
    reason = fields.String(
        required=True,
        metadata=documented(
            "nothing_due",
            "`nothing_due`: it counts as soon as something is due. `surplus`: so does the rest of"
            " it. `other_payment`: no list has this payee and amount.",
        ),
    )


class LeftPayoutsSchema(BaseSchema):
    """What is due, and neither listed nor named."""

    orders = fields.Integer(required=True, metadata=documented(0))
    amount = fields.Integer(required=True, metadata=documented(0))


class SeenPaymentSchema(BaseSchema):
    """A payment that one node has seen: a Transfer of the token to `address`.

    Its receipt must have it at `log_index`, in the block `block_hash`.
    """

    tx_hash = fields.String(required=True, metadata=documented(EXAMPLE_TX_HASH))
    log_index = fields.Integer(required=True, metadata=documented(12))
    block_number = fields.Integer(required=True, metadata=documented(21_000_000))
    block_hash = fields.String(required=True, metadata=documented(EXAMPLE_TX_HASH))
    block_time = Instant(required=True)
    address = fields.String(required=True, metadata=documented(EXAMPLE_ADDRESS))
    atomic_amount = fields.String(
        required=True, metadata=documented("12000000", "In the smallest units of the token.")
    )


class ListedIdSchema(BaseSchema):
    """An id of an earlier list, and the account that can use it."""

    payer = fields.String(required=True, metadata=documented(EXAMPLE_PAYER))
    id = fields.String(required=True, metadata=documented(EXAMPLE_ID))


class PreviewOrderSchema(BaseSchema):
    """An order that may be listed, and what to look at before you sign."""

    intent_id = an_id(_INTENT)
    amount = fields.Integer(required=True, metadata=documented(5_000_000))
    to = fields.String(required=True, metadata=documented(EXAMPLE_PAYER))
    source = one_of(
        PayeeSource,
        required=True,
        allow_none=True,
        attribute="payee.source",
        metadata={
            "description": "Who decided where it goes. `signer`: the account that signed the"
            " payment. `wallet`: the wallet that paid on the order's page. `stated`: the buyer."
            " `entered`: an administrator. Null: it was stated before this was recorded."
        },
    )
    effective_at = Instant(
        required=True,
        allow_none=True,
        attribute="payee.effective_at",
        metadata={"description": "Since when it goes there."},
    )
    entered_by = fields.String(
        required=True,
        allow_none=True,
        attribute="payee.entered_by",
        metadata=documented(None, "Who entered the address, for 24 hours."),
    )
    stated_today = fields.Boolean(
        required=True, attribute="payee.stated_today", metadata=documented(False)
    )
    differs_from_payer = fields.Boolean(
        required=True,
        attribute="payee.differs_from_payer",
        metadata=documented(True, "It goes to another address than the one that paid."),
    )
    cautions = fields.List(
        one_of(PayeeCaution),
        required=True,
        attribute="payee.cautions",
        metadata={
            "description": "What to look at. `email_changed_by_staff`: the order's email address"
            " was changed by your side. `replaces_proven`: the buyer's link replaced the account"
            " that paid, and their mailbox didn't confirm it. `nobody_told`: nobody got a mail"
            " about it. `entered`: an administrator entered it."
        },
    )
    witnessed = fields.Boolean(
        required=True, metadata=documented(True, "Two nodes have seen its payments.")
    )
    payments = fields.List(
        fields.Nested(SeenPaymentSchema),
        required=True,
        metadata={
            "description": "The payments to look at, if it isn't witnessed: the largest ones that"
            " cover the refund. Empty then, too, if 20 payments don't cover it."
        },
    )
    ids = fields.List(
        fields.Nested(ListedIdSchema),
        required=True,
        metadata={"description": "Ids of earlier lists. None of them may be used."},
    )


class PayoutPreviewSchema(BaseSchema):
    """What may stand on a list, the oldest orders first. Nothing is stored."""

    chain_id = fields.Integer(required=True, metadata=documented(8453))
    token_address = fields.String(required=True, metadata=documented(EXAMPLE_TOKEN))
    payer = fields.String(required=True, metadata=documented(EXAMPLE_ADDRESS))
    factory = fields.String(
        required=True, metadata=documented(EXAMPLE_ADDRESS, "The contract that pays the list.")
    )
    orders = fields.List(fields.Nested(PreviewOrderSchema), required=True)
    blocked = fields.List(fields.Nested(BlockedPayoutSchema), required=True)
    listed_for_another = fields.List(fields.Nested(PayoutOfAnotherSchema), required=True)
    unbooked = fields.List(fields.Nested(UnbookedPayoutSchema), required=True)
    left = fields.Nested(LeftPayoutsSchema, required=True)


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
    left = fields.Nested(
        LeftPayoutsSchema,
        required=True,
        metadata={
            "description": "What is due and not named here. What is due is `sum` and the amounts of"
            " `blocked`, `listed_for_another` and `left`."
        },
    )
    safe = fields.Nested(SafeFileSchema, required=True)
