"""Payment intents and the payments seen for them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from peewee import AnyField, BigIntegerField, BooleanField, ForeignKeyField, IntegerField, TextField

from ticketing.constants import LIVE, Flag, IntentStatus
from ticketing.models.base import BaseModel, UtcDateTimeField, literal
from ticketing.models.events import Event
from ticketing.models.tenants import Tenant, Wallet
from ticketing.models.ticket_types import TicketType


def flag_bits(flags: Iterable[Flag]) -> int:
    """Write a set of flags as one integer, a bit each in the order of Flag."""
    return sum(1 << list(Flag).index(flag) for flag in set(flags))


class FlagsField(AnyField):
    """A set of flags, kept as one integer."""

    field_type = "INTEGER"

    def db_value(self, value: Iterable[Flag] | int) -> int:
        """Write a set of flags; a number is taken for the bits themselves."""
        return value if isinstance(value, int) else flag_bits(value)

    def python_value(self, value: int) -> frozenset[Flag]:
        """Read the integer back as a set."""
        return frozenset(flag for flag in Flag if value & flag_bits([flag]))


@dataclass(frozen=True)
class PaymentTerms:
    """Where, in what token and how deep an intent is to be paid, as its buyer was shown."""

    chain_id: int
    address: str
    token_address: str
    decimals: int
    required_confirmations: int


class PaymentIntent(BaseModel):
    """One buyer's attempt to buy `quantity` of one ticket type on one chain.

    Amounts are micro-units. What is not known of the chain (everything from `chain_id` to
    `required_confirmations`) is None for a free order. `paid_block` is the block in which the
    payments reached the amount.

    `hold_until` is the deadline that preflight gave, `grace_until` the one that a reorganization
    gave instead; `expires_at` is the one that counts. `ended_at` is when it was canceled, or the
    deadline at which it first expired; it stays when a late payment is honoured.

    `refund_pending` is the part of `refund_due` that lies in blocks not yet deep enough.

    The address's logs are read until `watch_until`, then its balance is compared: `swept_balance`
    is the balance at `swept_at`, in atomic units, `swept_surplus` by how much it was above what was
    booked; below 0 it is what the owner had taken. Every transfer up to `checked_block` is known;
    `search_to` is the block up to which its logs are to be read again, None if they need not be.
    `held_by` is a digest of the address (of IPv6: of the /64) that asked for the order without a
    credential, `held_by_site` one of the IPv6 /48.
    """

    id = TextField(primary_key=True)
    tenant = ForeignKeyField(Tenant)
    tenant_id: str
    event = ForeignKeyField(Event)
    event_id: str
    ticket_type = ForeignKeyField(TicketType)
    ticket_type_id: str
    status = TextField()
    flags = FlagsField(default=frozenset)
    quantity = IntegerField()
    unit_amount = BigIntegerField()
    amount = BigIntegerField()
    amount_received = BigIntegerField(default=0)
    refund_due = BigIntegerField(default=0)
    refund_pending = BigIntegerField(default=0)
    refunded = BigIntegerField(default=0)
    currency = TextField()
    chain_id = BigIntegerField(null=True)
    wallet = ForeignKeyField(Wallet, null=True)
    address_index = BigIntegerField(null=True)
    address = TextField(null=True)
    token_address = TextField(null=True)
    token_decimals = IntegerField(null=True)
    required_confirmations = IntegerField(null=True)
    paid_block = BigIntegerField(null=True)
    held_by = TextField(null=True)
    held_by_site = TextField(null=True)
    buyer_email = TextField(null=True)
    buyer_name = TextField(null=True)
    created_at = UtcDateTimeField()
    hold_until = UtcDateTimeField()
    grace_until = UtcDateTimeField(null=True)
    expires_at = UtcDateTimeField()
    confirmed_at = UtcDateTimeField(null=True)
    ended_at = UtcDateTimeField(null=True)
    watch_until = UtcDateTimeField(null=True)
    checked_block = BigIntegerField(null=True)
    search_to = BigIntegerField(null=True)
    swept_at = UtcDateTimeField(null=True)
    swept_balance = TextField(null=True)
    swept_surplus = TextField(null=True)

    # No columns: set on one instance for whoever shows it.
    atomic_amount: int | None
    payment_uri: str | None
    confirmations: int
    client_secret: str
    online_join_url: str | None
    payments: Sequence["Payment"]
    admissions: Sequence[Any]

    class Meta:
        table_name = "payment_intents"

    @property
    def terms(self) -> PaymentTerms:
        """How it is to be paid. ValueError for a free order, which is not."""
        terms = (
            self.chain_id,
            self.address,
            self.token_address,
            self.token_decimals,
            self.required_confirmations,
        )
        if None in terms:
            raise ValueError(f"{self.id} is a free order")
        return PaymentTerms(*terms)  # type: ignore[arg-type]

    @property
    def flags_in_order(self) -> list[Flag]:
        """The flags as every process lists them."""
        return [flag for flag in Flag if flag in self.flags]

    @property
    def buyer(self) -> dict[str, str | None]:
        """Who buys, as far as they said."""
        return {"email": self.buyer_email, "name": self.buyer_name}

    @property
    def amount_due(self) -> int:
        """What is still to be paid, in micro-units; nothing once the intent has ever ended."""
        is_open = self.status in LIVE and self.ended_at is None
        return max(0, self.amount - self.amount_received + self.refunded) if is_open else 0


AWAITING = PaymentIntent.status == literal(IntentStatus.AWAITING_PAYMENT)
"""The intents that nothing, or too little, was paid for yet; there is an index on these alone."""

UNSETTLED = PaymentIntent.status.in_(
    [literal(IntentStatus.PROCESSING), literal(IntentStatus.REVERSED)]
)
"""The intents that depth will confirm; there is an index on these alone."""


FLAGGED = PaymentIntent.flags != literal(0)
OWING = PaymentIntent.refund_due > literal(0)
"""The few intents that are unusual, and those that owe money; each has its indexes."""

REFUND_PENDING = PaymentIntent.refund_pending > literal(0)
"""The intents that owe money whose payment is not deep enough; there is an index on these alone."""

TO_REFUND = OWING & (PaymentIntent.refund_due > PaymentIntent.refund_pending)
"""The intents that money can be sent back for now."""


class Payment(BaseModel):
    """One token transfer seen on a chain, known by (chain_id, tx_hash, log_index).

    `amount` is in whole micro-units, `dust` the atomic units below one. Only a canonical payment
    counts: a reorganization takes it out, and puts it back when it returns. `honoured` says
    whether an order that had ended was honoured by this transfer, None before that was decided.
    """

    id = TextField(primary_key=True)
    intent = ForeignKeyField(PaymentIntent)
    intent_id: str
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
    seen_at = UtcDateTimeField()

    class Meta:
        table_name = "payments"
        indexes = ((("chain_id", "tx_hash", "log_index"), True),)


class Refund(BaseModel):
    """One token transfer that gave a buyer back what was due, seen on the chain.

    Only a canonical refund counts. Its block is None if it was settled before blocks were kept.
    """

    id = TextField(primary_key=True)
    intent = ForeignKeyField(PaymentIntent)
    intent_id: str
    chain_id = BigIntegerField()
    tx_hash = TextField()
    log_index = IntegerField()
    recipient = TextField()
    amount = BigIntegerField()
    block_number = BigIntegerField(null=True)
    block_hash = TextField(null=True)
    canonical = BooleanField(default=True)
    created_at = UtcDateTimeField()

    class Meta:
        table_name = "refunds"
        indexes = ((("chain_id", "tx_hash", "log_index"), True),)
