"""The items of orders."""

from typing import Any

from peewee import (
    BigIntegerField,
    BooleanField,
    CompositeKey,
    Expression,
    ForeignKeyField,
    Function,
    IntegerField,
    fn,
)

from ticketing.models.admissions import Admission
from ticketing.models.base import BaseModel
from ticketing.models.payment_intents import Item, PaymentIntent
from ticketing.models.ticket_types import TicketType


class IntentItem(BaseModel):
    """An item of an order. See Item."""

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


def has_item_of(ticket_type_id: Any) -> Function:
    """Return the condition that an order has an item of a ticket type: an id, or a column."""
    of_order = IntentItem.intent == PaymentIntent.id
    of_type = IntentItem.ticket_type == ticket_type_id
    return fn.EXISTS(IntentItem.select(IntentItem.intent).where(of_order, of_type))


def is_of_seat() -> Expression:
    """Return the condition that an item is that of an admission: the types of an order differ."""
    # Not the column itself: without statistics, SQLite reads all seats of the type for each order.
    ticket_type = Admission.ticket_type.concat("")
    found: Expression = (IntentItem.intent == Admission.intent) & (
        IntentItem.ticket_type == ticket_type
    )
    return found
