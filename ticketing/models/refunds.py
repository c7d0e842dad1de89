"""Refunds that were paid, the addresses that they go to, and waivers."""

from datetime import datetime

from peewee import BigIntegerField, BooleanField, ForeignKeyField, IntegerField, TextField

from ticketing.constants import PayeeSource
from ticketing.models.base import BaseModel, UtcDateTimeField
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import PaymentIntent

PROVEN = (PayeeSource.SIGNER, PayeeSource.WALLET)
"""The sources of payees that nobody decided."""


class Refund(BaseModel):
    """The part of one token transfer on a chain that paid a refund of one intent.

    Several intents of a tenant may share a transfer, up to its value. Only a canonical refund
    counts. `sender` paid it. `checked`: the worker has compared its block once more, or no node had
    that any more.
    """

    id = TextField(primary_key=True)
    intent = ForeignKeyField(PaymentIntent)
    intent_id: str
    account = ForeignKeyField(OrderAccount)
    account_id: int
    chain_id = BigIntegerField()
    tx_hash = TextField()
    log_index = IntegerField()
    sender = TextField()
    recipient = TextField()
    amount = BigIntegerField()
    block_number = BigIntegerField()
    block_hash = TextField()
    canonical = BooleanField(default=True)
    checked = BooleanField(default=False)
    created_at = UtcDateTimeField()

    class Meta:
        table_name = "refunds"
        indexes = ((("intent_id", "chain_id", "tx_hash", "log_index"), True),)


class RefundAddress(BaseModel):
    """A payee: where an account's refunds go, or will, or went, and who decided it.

    `source` is a PayeeSource. A statement of the buyer `waits` until it counts or ends, and
    `effective_at` is when it will count; None: only a button in a mail makes it count. Of any other
    row, `effective_at` is since when it has counted; None: it never did. It counts until
    REFUND_ADDRESS_OVERLAP after `replaced_at`. `ended_at`: when a button in a mail ended it, or its
    proof ended. Then it counts for nothing.

    `confirm_salt` is a part of the secret of these buttons. `told_at`: when the first mail about it
    was sent to a mailbox of the buyer.

    `decided_by` says what made it count: one of BY_MAILBOX, BY_SIGNATURE and BY_WAITING, or the id
    of the key or member who entered it. `cautions` are those of that moment. `warned_at`: when
    administrators got a mail about them.
    """

    BY_MAILBOX, BY_SIGNATURE, BY_WAITING = "mailbox", "signature", "waiting"

    id = TextField(primary_key=True)
    intent = ForeignKeyField(PaymentIntent)
    intent_id: str
    account = ForeignKeyField(OrderAccount)
    account_id: int
    address = TextField()
    source = TextField(default=PayeeSource.STATED)
    stated_at = UtcDateTimeField()
    waits = BooleanField(default=False)
    effective_at = UtcDateTimeField(null=True)
    replaced_at = UtcDateTimeField(null=True)
    ended_at = UtcDateTimeField(null=True)
    confirm_salt = TextField(null=True)
    told_at = UtcDateTimeField(null=True)
    decided_by = TextField(null=True)
    cautions = TextField(default="")
    warned_at = UtcDateTimeField(null=True)

    class Meta:
        table_name = "refund_addresses"

    @property
    def counts_since(self) -> datetime | None:
        """The time from which it counts, or did until another replaced it. None: it does not."""
        since: datetime | None = self.effective_at
        return None if self.waits or self.ended_at is not None else since

    @property
    def is_payee(self) -> bool:
        """Whether it is the payee that counts now."""
        return self.counts_since is not None and self.replaced_at is None

    @property
    def is_proven(self) -> bool:
        """Whether it is an account that has proven that it paid."""
        return self.source in PROVEN


class Waiver(BaseModel):
    """An amount owed to a buyer that the organizer wrote off, in micro-units.

    `received` is what the intent had received up to the block `block_number`. The waiver ends if
    these payments leave the chain.
    """

    id = TextField(primary_key=True)
    intent = ForeignKeyField(PaymentIntent)
    intent_id: str
    account = ForeignKeyField(OrderAccount)
    account_id: int
    amount = BigIntegerField()
    received = BigIntegerField()
    block_number = BigIntegerField()
    reason = TextField()
    created_at = UtcDateTimeField()

    class Meta:
        table_name = "waivers"


WAITING = RefundAddress.waits
"""Statements that do not count yet. They have a partial index."""
