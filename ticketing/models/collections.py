"""Collections: transfers with which receivers passed money on to their owner."""

from peewee import BigIntegerField, BooleanField, ForeignKeyField, IntegerField, TextField

from ticketing.models.base import BaseModel, UtcDateTimeField
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import PaymentIntent


class Collection(BaseModel):
    """One token transfer from an order's receiver to its gathering receiver or its owner.

    It is identified by (chain_id, tx_hash, log_index). `amount` is in whole micro-units, `dust` is
    the rest in atomic units. `canonical` is as of payments. It changes nothing that is kept or
    owed: it explains why a receiver holds less than was paid.
    """

    id = TextField(primary_key=True)
    intent = ForeignKeyField(PaymentIntent)
    intent_id: str
    account = ForeignKeyField(OrderAccount)
    account_id: int
    chain_id = BigIntegerField()
    token_address = TextField()
    tx_hash = TextField()
    log_index = IntegerField()
    block_number = BigIntegerField()
    block_hash = TextField()
    block_time = UtcDateTimeField()
    recipient = TextField()
    amount = BigIntegerField()
    dust = BigIntegerField(default=0)
    canonical = BooleanField()
    seen_at = UtcDateTimeField()

    class Meta:
        table_name = "collections"
        indexes = ((("chain_id", "tx_hash", "log_index"), True),)
