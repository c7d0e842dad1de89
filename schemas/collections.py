"""Schemas of collections: what to sign so that what orders hold is sent to their owner."""

from marshmallow import fields

from schemas.base import (
    EXAMPLE_ID,
    EXAMPLE_PAYER,
    EXAMPLE_TOKEN,
    BaseSchema,
    Choice,
    ListOf,
    Moment,
    Number,
    Part,
    QueryInt,
    String,
    Text,
    YesNo,
)
from schemas.checks import ADDRESS, Length, Range
from ticketing.constants import MAX_SAFE_INTEGER, BlockedReason, CollectionPurpose

_FACTORY = "0x10e1a01A087937bA2fd722DAB83122dc3028a81A"


class CollectionsQuery(BaseSchema):
    """What to collect."""

    chain_id = QueryInt(required=True, validate=Range(1, MAX_SAFE_INTEGER))
    token = Text(
        description="A token, or the zero address for the network's own coin. Default: the token"
        " that tickets are paid with on this network.",
        load_default=None,
        allow_none=False,
        validate=ADDRESS,
    )
    after = Text(
        description="`looked_up_to` of the answer before.",
        load_default="",
        allow_none=False,
        validate=Length(1, 80),
    )
    owner_confirmed = fields.Boolean(
        load_default=False,
        allow_none=False,
        truthy={"true"},
        falsy={"false"},
        metadata={
            "description": "I control the owner's address on this network, although the wallet does"
            " not name it."
        },
    )


class CollectionTransactionSchema(BaseSchema):
    """A transaction to sign, without value. Anybody may send it: it pays the owner only."""

    purpose = Choice(
        CollectionPurpose,
        "`deploy` puts the factory on this network, once for everybody. Wait until the factory"
        " has code, then ask again: what comes after it was not tried.",
    )
    to = String(_FACTORY)
    data = String("0x")
    owner = String(EXAMPLE_PAYER, "Who gets the money.", nullable=True)
    orders = Number(12, "100 at most.")
    atomic_amount = Number(
        60_000_000, "What it moves, in the token's own units.", attribute="amount"
    )
    direct = YesNo(
        description="Whether each order's address pays the owner itself, because the token refuses"
        " transfers of the gathering receiver.",
        attribute="is_direct",
    )
    tried = YesNo(
        description="Whether a node has tried it: it would succeed now.", attribute="is_tried"
    )


class BlockedOrderSchema(BaseSchema):
    """An order that cannot be collected at the moment."""

    intent_id = String(
        f"pi_{EXAMPLE_ID}",
        "Null: an order that is unknown since a backup was restored, or money of no order.",
        nullable=True,
    )
    reason = Choice(
        BlockedReason,
        "`transfer_fails`: the token refuses the transfer, its issuer may have frozen the"
        " address. `not_final`: what it holds arrived just now, and its payment is not final yet."
        " `another_balance`: its address holds less than was recorded. It was collected just now,"
        " or the issuer took it. `not_over`: it is live or ended less than 24 hours ago, so its"
        " buyer may still pay. `out_of_reach`: the wallet does not name this network, see"
        " `owner_confirmed`.",
    )
    atomic_amount = Number(
        5_000_000, "What its address holds, in the token's own units.", attribute="amount"
    )


class LeftToCollectSchema(BaseSchema):
    """All other orders that hold something: ask again after signing.

    If it stays, it is less than the minimum deposit of the exchange, or `blocked` has named 1,000
    orders already.
    """

    orders = Number(0)
    atomic_amount = Number(0, "In the token's own units.", attribute="amount")


class CollectionsSchema(BaseSchema):
    """What to sign, in this order. `as_of` is the time of the last block that was read.

    Each order that holds something is in `transactions`, in `blocked`, or counted in `left`.
    """

    chain_id = Number(8453)
    token_address = String(EXAMPLE_TOKEN)
    as_of = Moment()
    factory = String(_FACTORY)
    transactions = ListOf(CollectionTransactionSchema)
    blocked = ListOf(BlockedOrderSchema)
    left = Part(LeftToCollectSchema)
    looked_up_to = String(
        None, "Not null: ask again with it as `after`. More orders may hold this token."
    )
