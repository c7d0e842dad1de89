"""The items of orders that need more than the columns of their order."""

from peewee import BigIntegerField, BooleanField, CompositeKey, ForeignKeyField, IntegerField

from ticketing.models.base import BaseModel
from ticketing.models.payment_intents import Item, PaymentIntent
from ticketing.models.ticket_types import TicketType


class IntentItem(BaseModel):
    """An item of an order. See Item. An order has rows here exactly if it `has_items`."""

    intent = ForeignKeyField(PaymentIntent, backref="item_rows")
    intent_id: str
    position = IntegerField()
    ticket_type = ForeignKeyField(TicketType)
    ticket_type_id: str
    quantity = IntegerField()
    list_amount = BigIntegerField()
    unit_amount = BigIntegerField()
    admission = BooleanField()
    vouchered = BooleanField()
    return_fee_percent = IntegerField(null=True)
    deposit_amount = BigIntegerField(default=0)

    class Meta:
        table_name = "intent_items"
        primary_key = CompositeKey("intent", "position")

    @property
    def item(self) -> Item:
        """The item without its order."""
        return Item(
            self.ticket_type_id,
            self.quantity,
            self.list_amount,
            self.unit_amount,
            self.admission,
            self.vouchered,
            self.return_fee_percent,
            int(self.deposit_amount),
        )
