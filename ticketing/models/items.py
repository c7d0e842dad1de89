"""The items of orders that need more than the columns of their order."""

from peewee import BigIntegerField, BooleanField, CompositeKey, ForeignKeyField, IntegerField

from ticketing.models.base import BaseModel
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.ticket_types import TicketType


class IntentItem(BaseModel):
    """A ticket type in an order: `quantity` seats, each at `unit_amount` micro-units.

    `list_amount` was the price without voucher at order time. `vouchered`: its seats use the
    voucher of the order. An order has rows here only if `PaymentIntent.has_items`.
    """

    intent = ForeignKeyField(PaymentIntent)
    intent_id: str
    position = IntegerField()
    ticket_type = ForeignKeyField(TicketType)
    ticket_type_id: str
    quantity = IntegerField()
    list_amount = BigIntegerField()
    unit_amount = BigIntegerField()
    vouchered = BooleanField(default=False)

    class Meta:
        table_name = "intent_items"
        primary_key = CompositeKey("intent", "position")
