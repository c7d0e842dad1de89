"""Schemas of collections: what to sign so that what orders hold is sent to their owner."""

from marshmallow import fields

from schemas.base import (
    EXAMPLE_ID,
    EXAMPLE_PAYER,
    EXAMPLE_TOKEN,
    BaseSchema,
    Instant,
    QueryInt,
    Text,
    documented,
    one_of,
)
from schemas.checks import ADDRESS, Length, Range
from ticketing.constants import MAX_SAFE_INTEGER, BlockedReason, CollectionPurpose

_FACTORY = "0x10e1a01A087937bA2fd722DAB83122dc3028a81A"


class CollectionsQuery(BaseSchema):
    """What to collect."""

    chain_id = QueryInt(required=True, validate=Range(1, MAX_SAFE_INTEGER))
    token = Text(
        load_default=None,
        allow_none=False,
        validate=ADDRESS,
        metadata={
            "description": "A token, or the zero address for the network's own coin. Default: the"
            " token that tickets are paid with on this network."
        },
    )
    after = Text(
        load_default="",
        allow_none=False,
        validate=Length(1, 80),
        metadata={"description": "`looked_up_to` of the answer before."},
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

    purpose = one_of(
        CollectionPurpose,
        required=True,
        metadata={
            "description": "`deploy` puts the factory on this network, once for everybody. Wait"
            " until the factory has code, then ask again: what comes after it was not tried."
        },
    )
    to = fields.String(required=True, metadata=documented(_FACTORY))
    data = fields.String(required=True, metadata=documented("0x"))
    owner = fields.String(
        required=True, allow_none=True, metadata=documented(EXAMPLE_PAYER, "Who gets the money.")
    )
    orders = fields.Integer(required=True, metadata=documented(12, "100 at most."))
    atomic_amount = fields.Integer(
        required=True,
        attribute="amount",
        metadata=documented(60_000_000, "What it moves, in the token's own units."),
    )
    direct = fields.Boolean(
        required=True,
        attribute="is_direct",
        metadata={
            "description": "Whether each order's address pays the owner itself, because the token"
            " refuses transfers of the gathering receiver."
        },
    )
    tried = fields.Boolean(
        required=True,
        attribute="is_tried",
        metadata={"description": "Whether a node has tried it: it would succeed now."},
    )


class BlockedOrderSchema(BaseSchema):
    """An order that cannot be collected at the moment."""

    intent_id = fields.String(
        required=True,
        allow_none=True,
        metadata=documented(
            f"pi_{EXAMPLE_ID}",
            "Null: an order that is unknown since a backup was restored, or money of no order.",
        ),
    )
    reason = one_of(
        BlockedReason,
        required=True,
        metadata={
            "description": "`transfer_fails`: the token refuses the transfer, its issuer may have"
            " frozen the address. `not_final`: what it holds arrived just now, and its payment is"
            " not final yet. `another_balance`: its address holds less than was recorded. It was"
            " collected just now, or the issuer took it. `not_over`: it is live or ended less than"
            " 24 hours ago, so its buyer may still pay. `out_of_reach`: the wallet does not name"
            " this network, see `owner_confirmed`."
        },
    )
    atomic_amount = fields.Integer(
        required=True,
        attribute="amount",
        metadata=documented(5_000_000, "What its address holds, in the token's own units."),
    )


class LeftToCollectSchema(BaseSchema):
    """All other orders that hold something: ask again after signing.

    If it stays, it is less than the minimum deposit of the exchange, or `blocked` has named 1,000
    orders already.
    """

    orders = fields.Integer(required=True, metadata=documented(0))
    atomic_amount = fields.Integer(
        required=True, attribute="amount", metadata=documented(0, "In the token's own units.")
    )


class CollectionsSchema(BaseSchema):
    """What to sign, in this order. `as_of` is the time of the last block that was read.

    Each order that holds something is in `transactions`, in `blocked`, or counted in `left`.
    """

    chain_id = fields.Integer(required=True, metadata=documented(8453))
    token_address = fields.String(required=True, metadata=documented(EXAMPLE_TOKEN))
    as_of = Instant(required=True)
    factory = fields.String(required=True, metadata=documented(_FACTORY))
    transactions = fields.List(fields.Nested(CollectionTransactionSchema), required=True)
    blocked = fields.List(fields.Nested(BlockedOrderSchema), required=True)
    left = fields.Nested(LeftToCollectSchema, required=True)
    looked_up_to = fields.String(
        required=True,
        allow_none=True,
        metadata=documented(
            None, "Not null: ask again with it as `after`. More orders may hold this token."
        ),
    )
