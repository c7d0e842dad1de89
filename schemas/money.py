"""Schemas of an organizer's money. Amounts are micro-units."""

from schemas.base import EXAMPLE_TOKEN, BaseSchema, ListOf, Moment, Number, Part, String


class OrdersSumSchema(BaseSchema):
    """So many orders, and what they hold together."""

    orders = Number(12)
    amount = Number(60_000_000)


class ChainMoneySchema(BaseSchema):
    """The figures of one token on one network.

    received = kept + open + owed + refunded + waived.

    `to_collect`: what can be moved to the organizer's address now; see the collections.
    `unknown_orders`: what addresses held that were skipped after a backup was restored, read once
    an hour, or that x402 clients were told and that have no order, read once a day. The collections
    move it.
    """

    chain_id = Number(8453)
    network = String("Base")
    token_address = String(EXAMPLE_TOKEN)
    as_of = Moment("The time of the last block in the books. Null: none was read.", nullable=True)
    received = Number(100_000_000, "What all orders received.")
    kept = Number(75_000_000, "The price of what was sold.")
    open = Number(
        5_000_000, "What live orders received, here as their network or not: it is not decided yet."
    )
    owed = Number(10_000_000, "What is due to buyers. See the refunds.")
    out_of_reach = Number(
        0,
        "What buyers sent here, although the wallet does not name this network. It is in no other"
        " figure, and is owed as soon as you say that you control the address here.",
    )
    refunded = Number(10_000_000, "What was paid back, from the organizer's own wallet.")
    waived = Number(0, "What was due, and the organizer wrote off.")
    collected = Number(40_000_000, "What was moved to the organizer's address.")
    to_collect = Part(OrdersSumSchema)
    unknown_orders = Part(OrdersSumSchema)
    unassigned_at_gathering = Number(
        0, "What somebody sent to the gathering receiver, which no order has. Read once an hour."
    )


class MoneySchema(BaseSchema):
    """The figures by network and token. Those in which no order was paid are left out."""

    data = ListOf(ChainMoneySchema, attribute="rows")
