"""Schemas of refunds. Amounts are micro-units."""

from marshmallow import validate

from schemas.base import (
    EXAMPLE_ADDRESS,
    EXAMPLE_PAYER,
    EXAMPLE_TOKEN,
    EXAMPLE_TX_HASH,
    BaseSchema,
    Bool,
    Choice,
    Int,
    ListOf,
    Moment,
    Number,
    PageQuery,
    Part,
    QueryInt,
    String,
    Text,
    YesNo,
    an_id,
    one_of,
)
from schemas.checks import ADDRESS, NOT_BLANK, TX_HASH, Length, Range
from ticketing.constants import (
    CURRENCY,
    MAX_PAYERS_SHOWN,
    MAX_SAFE_INTEGER,
    PayeeCaution,
    PayeeSource,
    RefundStatus,
)

SORTS = ("created_at", "-amount")
MAX_SIGNATURE = 8192
"""In characters. Contracts have signatures of any length, such as one of each owner."""


class PayerSchema(BaseSchema):
    """An address that paid, and what it sent. An exchange's address is not the buyer's."""

    sender = String(EXAMPLE_PAYER)
    amount = Number(55_000_000)


class PayeeSchema(BaseSchema):
    """Who decided where money goes back to, since when it counts, and what waits to replace it."""

    source = Choice(
        PayeeSource,
        "`signer`: the account that paid, which signed for it. `wallet`: the one that the buyer"
        " paid with on our page. `stated`: the buyer said so. `entered`: the organizer did, for"
        " the buyer. Null: there is no address yet.",
        nullable=True,
    )
    effective_at = Moment("Since when it counts.", nullable=True)
    waiting_address = String(None, "The buyer stated this address, and it does not count yet.")
    waits_until = Moment(
        "When `waiting_address` counts, unless the buyer's mailbox confirms it before. Until"
        " then, the money is on no list of payouts. Null: nothing waits, or only the mailbox can"
        " make it count.",
        nullable=True,
    )


class PayeeStateSchema(PayeeSchema):
    """The payee of a refund, and what to look at before you sign."""

    cautions = ListOf(
        one_of(PayeeCaution),
        "`email_changed_by_staff`: somebody of the organizer set the order's"
        " email, and the buyer's mailbox has not confirmed the address since.\n\n"
        "`replaces_proven`: another account has proven that it paid, and the buyer's mailbox"
        " did not confirm this one.\n\n"
        "`nobody_told`: nobody got a mail about this address.\n\n"
        "`entered`: an administrator entered it.",
    )
    entered_by = String(None, "Who entered the address, for 24 hours.")
    stated_today = YesNo(False, "Whether it is less than a day old.")
    differs_from_payer = YesNo(
        False, "Whether this address did not pay. So it is after an exchange."
    )


class RefundSchema(BaseSchema):
    """The refund that is, or was, due for one intent on one network and in one token.

    An order that received money on several has several.
    """

    intent_id = an_id("pi_", attribute="account.intent_id")
    status = Choice(RefundStatus, "`due` while something is owed.")
    amount = Number(5_000_000, "What is due from final payments.")
    refunded = Number(0, "The amount that was paid back already.", attribute="account.refunded")
    waived = Number(0, "The amount that was written off.", attribute="account.waived")
    currency = String(CURRENCY, attribute="account.currency")
    chain_id = Number(8453, attribute="account.chain_id")
    token_address = String(EXAMPLE_TOKEN, attribute="account.token_address")
    payers = ListOf(
        PayerSchema, f"The {MAX_PAYERS_SHOWN} who sent the most. Who was seen first is first."
    )
    payer_count = Number(1, "How many payers there are.")
    refund_address = String(
        EXAMPLE_PAYER,
        "Where the money goes. Null: ask the buyer.",
        nullable=True,
        attribute="account.refund_address",
    )
    payee = Part(PayeeStateSchema)
    by_hand_since = Moment(
        "Since when you pay it by hand: it is on no list of payouts. Null: you do not, or nothing"
        " is due.",
        nullable=True,
    )


class RefundListQuery(PageQuery):
    """Filters and order of the list of refunds."""

    status = one_of(RefundStatus, load_default=RefundStatus.DUE, allow_none=False)
    min_amount = QueryInt(
        description="Leave out refunds of which less, in micro-units, is due (or was waived or"
        " paid back, with that `status`).",
        validate=Range(1, MAX_SAFE_INTEGER),
    )
    sort = Text(
        description="`-amount`: the largest of these amounts first.",
        load_default="created_at",
        validate=validate.OneOf(SORTS),
    )


class AccountFieldsSchema(BaseSchema):
    """Which money of the order is meant: it may have received some on several networks."""

    chain_id = Int(
        None,
        "The network of the money. Null: the one of the order.",
        load_default=None,
        allow_none=True,
        validate=Range(1, MAX_SAFE_INTEGER),
    )
    token_address = Text(
        None,
        "The token of the money. Null: the one that the order can be paid in there.",
        load_default=None,
        allow_none=True,
        validate=ADDRESS,
    )


class RefundSettleSchema(AccountFieldsSchema):
    """The transaction that paid the refund, or a part of it."""

    tx_hash = Text(EXAMPLE_TX_HASH, required=True, validate=TX_HASH)
    recipient = Text(
        None,
        "An address that received the refund, although it neither paid nor was stated by the"
        " buyer. It is recorded in the audit log.",
        load_default=None,
        allow_none=True,
        validate=ADDRESS,
    )


class RefundsSettleSchema(BaseSchema):
    """A transaction that paid refunds, of any orders."""

    tx_hash = Text(EXAMPLE_TX_HASH, required=True, validate=TX_HASH)
    chain_id = Int(8453, required=True, validate=Range(1, MAX_SAFE_INTEGER))


class SettledOrderSchema(BaseSchema):
    """What the transaction paid back for one order in one token."""

    intent_id = an_id("pi_")
    token_address = String(EXAMPLE_TOKEN)
    amount = Number(5_000_000)


class SettledRefundsSchema(BaseSchema):
    """What the transaction paid back."""

    settled = ListOf(
        SettledOrderSchema, "Each order for which it counts, now or by an earlier call."
    )
    left = Number(0, "Due orders that were not tried. Call again.")


class RefundWaiveSchema(AccountFieldsSchema):
    """An amount that is written off. It must be what is due now."""

    amount = Int(5_000_000, required=True, validate=Range(1, MAX_SAFE_INTEGER))
    reason = Text("Less than the network fee", required=True, validate=[Length(1, 500), NOT_BLANK])


class RefundPayeeSchema(AccountFieldsSchema):
    """An address that the buyer told you, and why you enter it."""

    address = Text(EXAMPLE_PAYER, "EIP-55, or all lower case.", required=True, validate=ADDRESS)
    reason = Text(
        "Ada called: her mailbox is gone", required=True, validate=[Length(1, 500), NOT_BLANK]
    )


class RefundByHandSchema(AccountFieldsSchema):
    """Whether a refund is paid by hand."""

    by_hand = Bool(
        True,
        "True: you pay it by hand, so it is on no list of payouts. False: you do not.",
        required=True,
    )


class RefundPassOverSchema(AccountFieldsSchema):
    """An id of the order that somebody used for something else, and the administrator's reason."""

    payer = Text(
        EXAMPLE_PAYER, "Who has used it: `payer` in `blocked`.", required=True, validate=ADDRESS
    )
    payment_id = Text(
        "0x" + "cd" * 32, "`payment_id` in `blocked`.", required=True, validate=TX_HASH
    )
    reason = Text(
        "A test payment of ours.",
        "It is in the audit log.",
        required=True,
        validate=[Length(1, 500), NOT_BLANK],
    )


class RefundsWaiveSchema(BaseSchema):
    """A limit: each refund of this amount or less is written off."""

    max_amount = Int(
        10_000,
        "In micro-units, for each order.",
        required=True,
        validate=Range(1, MAX_SAFE_INTEGER),
    )
    chain_id = Int(
        8453,
        "Only refunds of this chain. Null: of all chains.",
        load_default=None,
        allow_none=True,
        validate=Range(1, MAX_SAFE_INTEGER),
    )
    reason = Text("Less than the network fee", required=True, validate=[Length(1, 500), NOT_BLANK])


class WaivedRefundsSchema(BaseSchema):
    """How many refunds were written off by this call."""

    waived = Number(500, "Orders, 500 at most.")
    amount = Number(500, "Their sum.")
    left = Number(12, "Orders that are still due, up to the same limit. Call again.")


class RefundAddressSchema(AccountFieldsSchema):
    """Where the buyer wants money back."""

    address = Text(EXAMPLE_PAYER, "EIP-55, or all lower case.", required=True, validate=ADDRESS)
    signature = Text(
        None,
        "Only after 409 signature_required: the signature of its `message` by `signer`, in hex."
        " By a key (EIP-191) or a contract (EIP-1271).",
        load_default=None,
        allow_none=True,
        validate=Length(1, MAX_SIGNATURE),
    )


class PaidRefundSchema(BaseSchema):
    """A transfer that was counted as a refund."""

    tx_hash = String(EXAMPLE_TX_HASH)
    log_index = Number(12)
    amount = Number(5_000_000)
    sender = String(EXAMPLE_ADDRESS, "Who paid. Null in refunds before version 2.", nullable=True)
    recipient = String(EXAMPLE_PAYER)
    created_at = Moment()
