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
    """Why a payment that was seen counts as no refund: at the moment, or for ever.

    A surplus is a part of one: more was paid than was due. The last two never change, and an order
    whose payment is one of them stays due.
    """

    NOTHING_DUE = "nothing_due"
    SURPLUS = "surplus"
    OTHER_PAYEE = "other_payee"
    OTHER_TOKEN = "other_token"
    NO_TRANSFER = "no_transfer"


class Payout(BaseModel):
    """One payment of a list: what one payer may pay for one order, once.

    `payment_id` (chain/refunded_events.py) is the order's next one: it follows from how many of its
    payments were seen before. It is written before the list is answered, so an event of it always
    finds its order.
    `amount` is in micro-units, `atomic_amount` in atomic units. `valid_before` is the end of the
    last list that it was on. The columns up to there say what was listed.

    The others say what a `Refunded` event shows that is final, and are None before. `transfer_log`
    is the log index of its Transfer, under which the refund is booked. `waits`: it is not booked,
    and may be later. `unbooked`: why it is not. `tried_at` is the last try.
    """

    payer = TextField()
    payment_id = TextField()
    tenant_id = TextField()
    intent = ForeignKeyField(PaymentIntent)
    intent_id: str
    chain_id = BigIntegerField()
    token_address = TextField()
    recipient = TextField()
    amount = BigIntegerField()
    atomic_amount = TextField()
    created_at = UtcDateTimeField()
    valid_before = UtcDateTimeField()
    tx_hash = TextField(null=True)
    log_index = IntegerField(null=True)
    transfer_log = IntegerField(null=True)
    block_number = BigIntegerField(null=True)
    block_hash = TextField(null=True)
    block_time = UtcDateTimeField(null=True)
    paid_to = TextField(null=True)
    paid_amount = TextField(null=True)
    waits = BooleanField(default=False)
    unbooked = TextField(null=True)
    tried_at = UtcDateTimeField(null=True)

    class Meta:
        table_name = "payouts"
        primary_key = CompositeKey("payer", "payment_id")


class PayoutCursor(BaseModel):
    """The last block of a chain up to which the events of payers were read.

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


SEEN = Payout.tx_hash.is_null(False)
"""Payments whose event is on the chain and final. They have a partial index."""
