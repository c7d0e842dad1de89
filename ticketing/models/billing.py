"""Who an order is billed to, if the buyer said so."""

from peewee import ForeignKeyField, TextField

from ticketing.models.base import BaseModel, UtcDateTimeField
from ticketing.models.payment_intents import PaymentIntent


class Billing(BaseModel):
    """What the receipt of an order says of its buyer. It is personal data, and erased with it."""

    intent = ForeignKeyField(PaymentIntent, primary_key=True)
    intent_id: str
    name = TextField(null=True)
    address = TextField(null=True)
    tax_id = TextField(null=True)
    changed_at = UtcDateTimeField()

    class Meta:
        table_name = "billing"
