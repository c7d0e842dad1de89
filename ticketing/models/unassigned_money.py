"""Money at addresses of a wallet that belong to no order."""

from peewee import BigIntegerField, BooleanField, CompositeKey, ForeignKeyField, TextField

from ticketing.models.base import BaseModel, UtcDateTimeField
from ticketing.models.wallets import Wallet

GATHERING = 0
"""The index that stands for the owner's gathering receiver. No order has it."""


class SkippedIndexes(BaseModel):
    """The indexes from `first` to `next` - 1 of an address's wallet, skipped at `skipped_at`.

    After a restore: orders that are in no backup may have had the first of them. Or `named`: x402
    clients were told their addresses. Those who signed have orders.
    """

    wallet = ForeignKeyField(Wallet)
    wallet_id: str
    first = BigIntegerField()
    next = BigIntegerField()
    named = BooleanField(default=False)
    skipped_at = UtcDateTimeField()

    class Meta:
        table_name = "skipped_indexes"
        primary_key = CompositeKey("wallet", "first")


class UnassignedMoney(BaseModel):
    """What the receiver with this index held at `seen_at`, in micro-units: more than 0."""

    wallet = ForeignKeyField(Wallet)
    wallet_id: str
    chain_id = BigIntegerField()
    token_address = TextField()
    address_index = BigIntegerField()
    amount = BigIntegerField()
    seen_at = UtcDateTimeField()

    class Meta:
        table_name = "unassigned_money"
        primary_key = CompositeKey("wallet", "chain_id", "token_address", "address_index")
