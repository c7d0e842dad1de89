"""Schemas of an organizer's money. Amounts are micro-units."""

from marshmallow import fields

from schemas.base import EXAMPLE_TOKEN, BaseSchema, Instant, documented


class OrdersSumSchema(BaseSchema):
    """So many orders, and what they hold together."""

    orders = fields.Integer(required=True, metadata=documented(12))
    amount = fields.Integer(required=True, metadata=documented(60_000_000))


def _amount(example: int, description: str) -> fields.Integer:
    return fields.Integer(required=True, metadata=documented(example, description))


class ChainMoneySchema(BaseSchema):
    """The figures of one token on one network.

    received = kept + open + owed + refunded + waived.

    `to_collect`: what can be moved to the organizer's address now; see the collections.
    `unknown_orders`: what addresses held that were skipped after a backup was restored, read once
    an hour, or that x402 clients were told and that have no order, read once a day. The collections
    move it.
    """

    chain_id = fields.Integer(required=True, metadata=documented(8453))
    network = fields.String(required=True, metadata=documented("Base"))
    token_address = fields.String(required=True, metadata=documented(EXAMPLE_TOKEN))
    as_of = Instant(
        required=True,
        allow_none=True,
        metadata={"description": "The time of the last block in the books. Null: none was read."},
    )
    received = _amount(100_000_000, "What all orders received.")
    kept = _amount(75_000_000, "The price of what was sold.")
    open = _amount(
        5_000_000, "What live orders received, here as their network or not: it is not decided yet."
    )
    owed = _amount(10_000_000, "What is due to buyers. See the refunds.")
    out_of_reach = _amount(
        0,
        "What buyers sent here, although the wallet does not name this network. It is in no other"
        " figure, and is owed as soon as you say that you control the address here.",
    )
    refunded = _amount(10_000_000, "What was paid back, from the organizer's own wallet.")
    waived = _amount(0, "What was due, and the organizer wrote off.")
    collected = _amount(40_000_000, "What was moved to the organizer's address.")
    to_collect = fields.Nested(OrdersSumSchema, required=True)
    unknown_orders = fields.Nested(OrdersSumSchema, required=True)
    unassigned_at_gathering = _amount(
        0, "What somebody sent to the gathering receiver, which no order has. Read once an hour."
    )


class MoneySchema(BaseSchema):
    """The figures by network and token. Those in which no order was paid are left out."""

    data = fields.List(fields.Nested(ChainMoneySchema), required=True, attribute="rows")
