"""Payments: transfers of a token to the address of an order."""

from peewee import BigIntegerField, BooleanField, ForeignKeyField, IntegerField, TextField

from ticketing.models.base import BaseModel, UtcDateTimeField
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import PaymentIntent


class Payment(BaseModel):
    """One token transfer on a chain, identified by (chain_id, tx_hash, log_index).

    `amount` is in whole micro-units, `dust` is the rest in atomic units. Only a canonical payment
    counts: a reorganization can make it non-canonical, and canonical again. `honoured`: whether
    this transfer paid for an order that had ended. None: not decided yet.

    `witnessed`: whether two nodes have it with the same content. None: they were not asked yet, or
    one did not answer. `proven`: how its sender has proven to have paid it, PayeeSource.SIGNER or
    WALLET. Both hold for this block only. `proof_due_at`: from when the worker looks for a proof.
    None: it need not.
    """

    id = TextField(primary_key=True)
    intent = ForeignKeyField(PaymentIntent)
    intent_id: str
    account = ForeignKeyField(OrderAccount)
    account_id: int
    chain_id = BigIntegerField()
    tx_hash = TextField()
    log_index = IntegerField()
    block_number = BigIntegerField()
    block_hash = TextField()
    block_time = UtcDateTimeField()
    sender = TextField()
    amount = BigIntegerField()
    dust = BigIntegerField(default=0)
    canonical = BooleanField()
    honoured = BooleanField(null=True)
    witnessed = BooleanField(null=True)
    proven = TextField(null=True)
    proof_due_at = UtcDateTimeField(null=True)
    seen_at = UtcDateTimeField()

    # No column: services set it on an instance for its response.
    token_address: str

    class Meta:
        table_name = "payments"
        indexes = ((("chain_id", "tx_hash", "log_index"), True),)
