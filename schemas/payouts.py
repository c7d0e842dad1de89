"""Schemas of payouts: refunds that an organizer signs. Amounts are micro-units."""

from typing import ClassVar

from schemas.base import (
    EXAMPLE_ADDRESS,
    EXAMPLE_PAYER,
    EXAMPLE_TOKEN,
    EXAMPLE_TX_HASH,
    BaseSchema,
    Bool,
    Choice,
    Int,
    Items,
    ListOf,
    Moment,
    Number,
    Part,
    QueryInt,
    String,
    Text,
    YesNo,
    an_id,
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


class PayoutCreateSchema(BaseSchema):
    """The network, and the account that will sign."""

    chain_id = Int(
        8453,
        "An enabled network that has receivers.",
        required=True,
        validate=Range(1, MAX_SAFE_INTEGER),
    )
    token = Text(
        None,
        "An earlier token of this network. Null: its present one.",
        load_default=None,
        allow_none=True,
        validate=ADDRESS,
    )
    payer = Text(
        EXAMPLE_ADDRESS,
        "It signs, and pays its tokens. EIP-55 or lower case.",
        required=True,
        validate=ADDRESS,
    )
    accept_unwitnessed = Bool(
        False,
        "Also list orders whose payments no second node has seen. Set it only if you have looked"
        " at these payments yourself, for example on a block explorer.",
        load_default=False,
    )
    include_cautioned = Bool(
        False, "Also list orders with cautions: see the preview.", load_default=False
    )

    class Meta:
        # A schema has an attribute of this name.
        include: ClassVar = {
            "only": Items(
                Text(validate=Length(1, 80)),
                "List only these orders. Null: all.",
                example=None,
                load_default=None,
                allow_none=True,
                validate=Length(1, MOST_CHOSEN, "items"),
            )
        }


class PayoutPreviewQuery(BaseSchema):
    """The network, and the account that will sign."""

    chain_id = QueryInt(
        8453,
        "An enabled network that has receivers.",
        required=True,
        validate=Range(1, MAX_SAFE_INTEGER),
    )
    token = Text(
        EXAMPLE_TOKEN, "An earlier token of this network.", load_default=None, validate=ADDRESS
    )
    payer = Text(
        EXAMPLE_ADDRESS, "It will sign. EIP-55 or lower case.", required=True, validate=ADDRESS
    )


class PayoutStepSchema(BaseSchema):
    """One transaction to sign. Its value is 0."""

    purpose = String(
        "refund",
        "`deploy`: creates the factory, which has no code on this network yet. `approve`: lets the"
        " factory spend `sum` of the payer's. `refund`: pays.",
    )
    to = String(EXAMPLE_TOKEN, "The contract.")
    data = String("0x095ea7b3", "The call data.")
    orders = Number(2, "How many orders it is for.")
    amount = Number(12_000_000)


class PayoutPaymentSchema(BaseSchema):
    """One payment of the list."""

    intent_id = an_id(_INTENT)
    id = String(EXAMPLE_ID, "The factory accepts it once from this payer.", attribute="payment.id")
    to = String(EXAMPLE_PAYER, "The address that the buyer stated.", attribute="payment.to")
    amount = Number(5_000_000)


class BlockedPayoutSchema(BaseSchema):
    """An order that is due and cannot be paid now."""

    intent_id = an_id(_INTENT)
    amount = Number(5_000_000, "What it is due.")
    reason = Choice(
        PayoutReason,
        "`not_covered`: its address and its collections have less than it received by the books."
        " `nodes_behind`: a node lacks the newest block; retry. `unwitnessed`: no second node has"
        " seen its payments. `cautioned`: look at its payee first. `transfer_refused`: the token"
        " refuses the transfer; its issuer may have frozen the address. `already_paid`: an id of"
        " it is used, and the payment is not final, not booked or not known. `paid_elsewhere`:"
        " money went out with an id of it to another address, or of another amount."
        " `waits_until`: the buyer has stated an address that doesn't count yet. `no_payee`:"
        " nobody has said where to. `by_hand`: you pay it by hand. `not_final`: the payment isn't"
        " final. `not_chosen`: it isn't in `only`. `beyond_balance`: the payer has too little."
        " `below_one_unit`: the token has no unit so small.",
    )
    until = Moment("When that ends by itself.", nullable=True)
    tx_hash = String(None, "The transaction that paid it, if it is known.")
    payer = String(None, "Who has used an id of it.")
    payment_id = String(None, "The id that is used.")


class PayoutOfAnotherSchema(BaseSchema):
    """An order on the list of another payer."""

    intent_id = an_id(_INTENT)
    amount = Number(5_000_000, "What it is due.")
    payer = String(EXAMPLE_PAYER)
    until = Moment("The end of that list. It must be final on the network.")


class UnbookedPayoutSchema(BaseSchema):
    """A payment with an id of a list that was made, and does not count as a refund."""

    intent_id = an_id(_INTENT)
    id = String(EXAMPLE_ID)
    payer = String(EXAMPLE_PAYER, "Who paid.")
    tx_hash = String(EXAMPLE_TX_HASH)
    to = String(EXAMPLE_PAYER)
    reason = String(
        "nothing_due",
        "`nothing_due`: it counts as soon as something is due. `surplus`: so does the rest of it."
        " `other_payment`: no list has this payee and amount.",
    )


class LeftPayoutsSchema(BaseSchema):
    """What is due, and neither listed nor named."""

    orders = Number(0)
    amount = Number(0)


class SeenPaymentSchema(BaseSchema):
    """A payment that one node has seen: a Transfer of the token to `address`.

    Its receipt must have it at `log_index`, in the block `block_hash`.
    """

    tx_hash = String(EXAMPLE_TX_HASH)
    log_index = Number(12)
    block_number = Number(21_000_000)
    block_hash = String(EXAMPLE_TX_HASH)
    block_time = Moment()
    address = String(EXAMPLE_ADDRESS)
    atomic_amount = String("12000000", "In the smallest units of the token.")


class ListedIdSchema(BaseSchema):
    """An id of an earlier list, and the account that can use it."""

    payer = String(EXAMPLE_PAYER)
    id = String(EXAMPLE_ID)


class PreviewOrderSchema(BaseSchema):
    """An order that may be listed, and what to look at before you sign."""

    intent_id = an_id(_INTENT)
    amount = Number(5_000_000)
    to = String(EXAMPLE_PAYER)
    source = Choice(
        PayeeSource,
        "Who decided where it goes. `signer`: the account that signed the payment. `wallet`: the"
        " wallet that paid on the order's page. `stated`: the buyer. `entered`: an administrator."
        " Null: it was stated before this was recorded.",
        nullable=True,
        attribute="payee.source",
    )
    effective_at = Moment(
        "Since when it goes there.", nullable=True, attribute="payee.effective_at"
    )
    entered_by = String(
        None, "Who entered the address, for 24 hours.", attribute="payee.entered_by"
    )
    stated_today = YesNo(False, attribute="payee.stated_today")
    differs_from_payer = YesNo(
        True,
        "It goes to another address than the one that paid.",
        attribute="payee.differs_from_payer",
    )
    cautions = ListOf(
        one_of(PayeeCaution),
        "What to look at. `email_changed_by_staff`: the order's email address was changed by your"
        " side. `replaces_proven`: the buyer's link replaced the account that paid, and their"
        " mailbox didn't confirm it. `nobody_told`: nobody got a mail about it. `entered`: an"
        " administrator entered it.",
        attribute="payee.cautions",
    )
    witnessed = YesNo(True, "Two nodes have seen its payments.")
    payments = ListOf(
        SeenPaymentSchema,
        "The payments to look at, if it isn't witnessed: the largest ones that cover the refund."
        " Empty then, too, if 20 payments don't cover it.",
    )
    ids = ListOf(ListedIdSchema, "Ids of earlier lists. None of them may be used.")


class PayoutPreviewSchema(BaseSchema):
    """What may stand on a list, the oldest orders first. Nothing is stored."""

    chain_id = Number(8453)
    token_address = String(EXAMPLE_TOKEN)
    payer = String(EXAMPLE_ADDRESS)
    factory = String(EXAMPLE_ADDRESS, "The contract that pays the list.")
    orders = ListOf(PreviewOrderSchema)
    blocked = ListOf(BlockedPayoutSchema)
    listed_for_another = ListOf(PayoutOfAnotherSchema)
    unbooked = ListOf(UnbookedPayoutSchema)
    left = Part(LeftPayoutsSchema)


class SafeStepSchema(BaseSchema):
    """One transaction, as Safe's Transaction Builder reads it."""

    to = String(EXAMPLE_TOKEN)
    value = String("0")
    data = String("0x095ea7b3")


class SafeMetaSchema(BaseSchema):
    """What Safe's Transaction Builder shows of a file."""

    name = String("Refunds")


class SafeFileSchema(BaseSchema):
    """The same transactions as a file for Safe's Transaction Builder."""

    version = String("1.0")
    chainId = String("8453")
    createdAt = Number(1_700_000_000_000)
    meta = Part(SafeMetaSchema)
    transactions = ListOf(SafeStepSchema)


class PayoutListSchema(BaseSchema):
    """What the payer signs, and which orders are left out."""

    chain_id = Number(8453)
    token_address = String(EXAMPLE_TOKEN)
    payer = String(EXAMPLE_ADDRESS)
    factory = String(EXAMPLE_ADDRESS, "The contract that pays the list.")
    valid_before = Moment("After this moment, the list cannot be paid.")
    sum = Number(12_000_000)
    balance = Number(20_000_000, "What the payer has, 2^53 - 1 at most.")
    allowance = Number(0, "What the factory may spend of it, 2^53 - 1 at most.")
    transactions = ListOf(
        PayoutStepSchema, "To be signed in this order, each after the one before."
    )
    payments = ListOf(PayoutPaymentSchema)
    blocked = ListOf(BlockedPayoutSchema)
    listed_for_another = ListOf(PayoutOfAnotherSchema)
    unbooked = ListOf(UnbookedPayoutSchema)
    left = Part(
        LeftPayoutsSchema,
        "What is due and not named here. What is due is `sum` and the amounts of `blocked`,"
        " `listed_for_another` and `left`.",
    )
    safe = Part(SafeFileSchema)
