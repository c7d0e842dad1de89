"""What pages and storefronts say about who pays."""

from peewee import BigIntegerField, CompositeKey, ForeignKeyField, TextField

from ticketing.models.base import BaseModel, UtcDateTimeField
from ticketing.models.payment_intents import PaymentIntent


class PaymentReport(BaseModel):
    """An account that says to have paid for an order in one transaction. It proves nothing alone.

    `told_at`: when it was said first, by our clock.
    """

    intent = ForeignKeyField(PaymentIntent)
    intent_id: str
    chain_id = BigIntegerField()
    tx_hash = TextField()
    account = TextField()
    told_at = UtcDateTimeField()

    class Meta:
        table_name = "payment_reports"
        primary_key = CompositeKey("intent", "chain_id", "tx_hash", "account")
