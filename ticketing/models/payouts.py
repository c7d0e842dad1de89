"""Payouts: refunds that were listed for a payer to sign, and what was seen of them on the chain."""

from enum import StrEnum

from peewee import (
    BigIntegerField,
    BooleanField,
    CompositeKey,
    ForeignKeyField,
    IntegerField,
    TextField,
)

from ticketing.models.base import BaseModel, UtcDateTimeField
from ticketing.models.payment_intents import PaymentIntent


class Unbooked(StrEnum):
    """Why a payment that was seen counts as no refund, or not all of it.

    `nothing_due`, `surplus`: it counts as soon as something is due. `other_payment`: no list has
    its id, payee and amount.
    """

    NOTHING_DUE = "nothing_due"
    SURPLUS = "surplus"
    OTHER_PAYMENT = "other_payment"


class Payout(BaseModel):
    """One payment of a list: what one payer may pay for one order, once.

    There is one row for each payer, id, payee and amount that was ever listed. The factory accepts
    an id of a payer once, so at most one row of a payer and id is ever paid. `payment_id`
    (chain/refunded_events.py) is the order's next one for this payer. A row is written before its
    list is answered, so an event with its id always finds its order.
    `amount` is in micro-units, `atomic_amount` in atomic units. `valid_before` is the end of the
    last list that had the row.

    Example: an order is due 5, then 8. P gets a list with (id 0, Ada, 5), and a later one with
    (id 0, Ada, 8). P can sign both, and the factory pays one of them.
    """

    payer = TextField()
    payment_id = TextField()
    recipient = TextField()
    atomic_amount = TextField()
    tenant_id = TextField()
    intent = ForeignKeyField(PaymentIntent)
    intent_id: str
    chain_id = BigIntegerField()
    token_address = TextField()
    amount = BigIntegerField()
    created_at = UtcDateTimeField()
    valid_before = UtcDateTimeField()

    class Meta:
        table_name = "listed_payouts"
        primary_key = CompositeKey("payer", "payment_id", "recipient", "atomic_amount")


class PayoutEvent(BaseModel):
    """A `Refunded` event that is final, with an id of an order, and its own Transfer.

    The Transfer is in the token of the order's account: an event without one is no payment, and has
    no row. `transfer_log` is the log index of the Transfer, under which the refund is booked.
    `restored`: it was read after a backup was restored, so its list may be unknown here. `waits`:
    not all of it is booked, and it may be later. `unbooked`: why. `tried_at` is the last try.
    """

    payer = TextField()
    payment_id = TextField()
    tenant_id = TextField()
    intent = ForeignKeyField(PaymentIntent)
    intent_id: str
    chain_id = BigIntegerField()
    token_address = TextField()
    tx_hash = TextField()
    log_index = IntegerField()
    transfer_log = IntegerField()
    block_number = BigIntegerField()
    block_hash = TextField()
    block_time = UtcDateTimeField()
    paid_to = TextField()
    paid_amount = TextField()
    restored = BooleanField(default=False)
    waits = BooleanField(default=True)
    unbooked = TextField(null=True)
    tried_at = UtcDateTimeField(null=True)

    class Meta:
        table_name = "payout_events"
        primary_key = CompositeKey("payer", "payment_id")


class PassedId(BaseModel):
    """An id of a payer that is used, and not for this order, on an administrator's word.

    The order's next payment by this payer has the next id.
    """

    payer = TextField()
    payment_id = TextField()
    intent = ForeignKeyField(PaymentIntent)
    intent_id: str
    reason = TextField()
    created_at = UtcDateTimeField()

    class Meta:
        table_name = "passed_ids"
        primary_key = CompositeKey("payer", "payment_id")


class PayoutCursor(BaseModel):
    """The last block of a chain up to which the events of lists were read.

    There is none before the first list. While nobody has a list, it stays where it is.
    `restored_at` is when the database was restored from a backup: it may not know the newest lists.
    """

    chain_id = BigIntegerField(primary_key=True)
    block_number = BigIntegerField()
    block_hash = TextField()
    block_time = UtcDateTimeField()
    restored_at = UtcDateTimeField(null=True)

    class Meta:
        table_name = "payout_cursors"
