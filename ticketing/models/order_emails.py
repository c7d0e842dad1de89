"""The email addresses of orders whose address has changed."""

from enum import IntEnum, StrEnum

from peewee import CompositeKey, ForeignKeyField, IntegerField, TextField

from ticketing.models.base import BaseModel, UtcDateTimeField
from ticketing.models.payment_intents import PaymentIntent


class EmailPlace(IntEnum):
    """Which of an order's addresses a row has: it has at most one row for each place.

    `FIRST` is the one at the first payment, `BEFORE` the last one that the buyer had proven besides
    that. `PRESENT` is the order's address now, unless that is one of the other two.
    """

    FIRST = 1
    BEFORE = 2
    PRESENT = 3


class SetBy(StrEnum):
    """Who set an address: somebody with the order's link, or the organizer's side."""

    BUYER = "buyer"
    ORGANIZER = "organizer"


class OrderEmail(BaseModel):
    """An address of an order. An order whose address never changed has no rows. Erased with it.

    `counts_from`: since when, or from when, it is a mailbox of the buyer. None: never by waiting.
    `salt` is in the secret of the buttons that were mailed about it: for the first two places those
    that put the address back, for the present one those that confirm it. `organizer_at`: when the
    organizer's side last changed the address, unless a mailbox of the buyer has confirmed one
    since. `put_back_at`: when a button put this address back.
    """

    intent = ForeignKeyField(PaymentIntent)
    intent_id: str
    place = IntegerField()
    email = TextField()
    set_by = TextField()
    at = UtcDateTimeField()
    counts_from = UtcDateTimeField(null=True)
    salt = TextField(null=True)
    organizer_at = UtcDateTimeField(null=True)
    put_back_at = UtcDateTimeField(null=True)

    class Meta:
        table_name = "order_emails"
        primary_key = CompositeKey("intent", "place")
