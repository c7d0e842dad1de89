"""Refunds that were paid, the addresses that buyers stated for them, and waivers.

`stray` of each is the stray account that it belongs to. Empty: the order's home.
"""

from peewee import BigIntegerField, BooleanField, ForeignKeyField, IntegerField, TextField

from ticketing.models.base import BaseModel, UtcDateTimeField, literal
from ticketing.models.payment_intents import PaymentIntent


class Refund(BaseModel):
    """The part of one token transfer on a chain that paid a refund of one intent.

    Several intents of a tenant may share a transfer, up to its value. Only a canonical refund
    counts. Its block is None in rows from versions that did not store it, and so is `sender`, who
    paid. `checked`: the worker has compared its block once more, or no node had that any more.
    """

    id = TextField(primary_key=True)
    intent = ForeignKeyField(PaymentIntent)
    intent_id: str
    stray = TextField(default="")
    chain_id = BigIntegerField()
    tx_hash = TextField()
    log_index = IntegerField()
    sender = TextField(null=True)
    recipient = TextField()
    amount = BigIntegerField()
    block_number = BigIntegerField(null=True)
    block_hash = TextField(null=True)
    canonical = BooleanField(default=True)
    checked = BooleanField(default=False)
    created_at = UtcDateTimeField()

    class Meta:
        table_name = "refunds"
        indexes = ((("intent_id", "chain_id", "tx_hash", "log_index"), True),)


REFUND_AT_HOME = Refund.stray == literal("")
"""Refunds of the home of an order, not of a stray account."""


class RefundAddress(BaseModel):
    """Where a buyer wants money back. It counts until some time after its replacement."""

    id = TextField(primary_key=True)
    intent = ForeignKeyField(PaymentIntent)
    intent_id: str
    stray = TextField(default="")
    address = TextField()
    stated_at = UtcDateTimeField()
    replaced_at = UtcDateTimeField(null=True)

    class Meta:
        table_name = "refund_addresses"


class Waiver(BaseModel):
    """An amount owed to a buyer that the organizer wrote off, in micro-units.

    `received` is what the intent had received up to the block `block_number`. The waiver ends if
    these payments leave the chain.
    """

    id = TextField(primary_key=True)
    intent = ForeignKeyField(PaymentIntent)
    intent_id: str
    stray = TextField(default="")
    amount = BigIntegerField()
    received = BigIntegerField()
    block_number = BigIntegerField()
    reason = TextField()
    created_at = UtcDateTimeField()

    class Meta:
        table_name = "waivers"
