"""What orders received on other networks, or in other tokens, than those they are paid in."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from peewee import BigIntegerField, BooleanField, ForeignKeyField, IntegerField, TextField

from ticketing.models.base import BaseModel, UtcDateTimeField, literal
from ticketing.models.payment_intents import PaymentIntent, PaymentTerms


class StrayAccount(BaseModel):
    """The books of one order on a chain, and in a token, that it is not paid in.

    An order is paid on one chain, its home: PaymentIntent has the books of that. Its address is the
    same on each chain, so money may arrive on others. A row exists only once money was seen there.
    Its own rows (payments, refunds, waivers, refund addresses, collections) have its `id` as their
    `stray`. Nothing is kept of a stray account. Amounts are micro-units.

    `is_option`: the order can be paid there. Then the account may become the home, and the home a
    stray account: services/payments/adoption.py. `in_reach`: the organizer says to control the
    address there. What is not in reach is not owed yet.

    `unassigned` is what may still become the home: neither kept nor owed. `asked_back_at`: the
    buyer wants the money back; since then it is owed. `amount_final` is the part of
    `amount_received` in final blocks, `pending_block` the first block after them with a payment.
    The columns from `checked_block` on are as in PaymentIntent.
    """

    id = TextField(primary_key=True)
    intent = ForeignKeyField(PaymentIntent)
    intent_id: str
    tenant_id = TextField()
    chain_id = BigIntegerField()
    token_address = TextField()
    symbol = TextField(null=True)
    token_decimals = IntegerField()
    required_confirmations = IntegerField()
    early_confirmations = IntegerField(null=True)
    address = TextField()
    is_option = BooleanField()
    in_reach = BooleanField()
    amount_received = BigIntegerField(default=0)
    amount_final = BigIntegerField(default=0)
    unassigned = BigIntegerField(default=0)
    refund_due = BigIntegerField(default=0)
    refund_pending = BigIntegerField(default=0)
    refunded = BigIntegerField(default=0)
    waived = BigIntegerField(default=0)
    pending_block = BigIntegerField(null=True)
    asked_back_at = UtcDateTimeField(null=True)
    refund_address = TextField(null=True)
    refund_by_hand_at = UtcDateTimeField(null=True)
    checked_block = BigIntegerField(null=True)
    search_to = BigIntegerField(null=True)
    swept_at = UtcDateTimeField(null=True)
    swept_balance = TextField(null=True)
    created_at = UtcDateTimeField()

    # No column: services set it on an instance for its response.
    refunds: Sequence[Any]
    payee: Any  # of services/orders/payees_shown.py

    class Meta:
        table_name = "stray_accounts"

    @property
    def order(self) -> PaymentIntent:
        """The order that it belongs to."""
        intent: PaymentIntent = self.intent
        return intent

    @property
    def currency(self) -> str:
        """What its token is called. If that is not known: as the order's."""
        return str(self.symbol or self.order.currency)

    @property
    def stray(self) -> str:
        """What its rows have as their `stray`."""
        return str(self.id)

    @property
    def terms(self) -> PaymentTerms:
        """Where its money arrives, in which token, and when it is final."""
        return PaymentTerms(
            self.chain_id,
            self.address,
            self.token_address,
            self.token_decimals,
            self.required_confirmations,
        )

    @property
    def wallet_id(self) -> str | None:
        """The wallet of its order."""
        return self.order.wallet_id

    @property
    def counted(self) -> int:
        """What was received, and neither refunded nor waived."""
        return int(self.amount_received - self.refunded - self.waived)

    @property
    def refund_due_now(self) -> int:
        """The refund that is due from final payments."""
        return int(self.refund_due - self.refund_pending)

    @property
    def returnable_now(self) -> int:
        """What can be paid back now: what is due, and what may still become the home.

        Example: Ada's 4 on Polygon are unassigned, and the organizer sends them back by hand. Then
        they cannot pay for her order any more.
        """
        final = int(self.amount_final - self.refunded - self.waived)
        return max(0, min(self.counted, final)) if self.in_reach else 0

    @property
    def asked_back(self) -> bool:
        """Whether the buyer wanted it back. Then it never pays for the order."""
        return self.asked_back_at is not None

    @property
    def out_of_reach(self) -> int:
        """What the organizer cannot pay back yet."""
        return 0 if self.in_reach else max(0, self.counted)


Account: TypeAlias = PaymentIntent | StrayAccount
"""The books of an order on one chain and in one token: its home, or a stray account."""


def id_of(intent_id: str, chain_id: int, token_address: str) -> str:
    """Return the id of a stray account. It sorts directly after the id of its order."""
    return f"{intent_id}.{chain_id}.{token_address}"


PENDING = StrayAccount.amount_received > StrayAccount.amount_final
"""Accounts with a payment that is not final. They have a partial index."""

SEARCHED = StrayAccount.search_to.is_null(False)
"""Accounts whose logs are searched. They have a partial index."""

STRAY_OWING = StrayAccount.refund_due > literal(0)
"""Accounts that owe something. They have a partial index by tenant."""

STRAY_TO_REFUND = STRAY_OWING & (StrayAccount.refund_due > StrayAccount.refund_pending)
"""Accounts with a refund that can be paid now."""

STRAY_NOT_OWING = StrayAccount.refund_due == literal(0)
STRAY_WAIVED = STRAY_NOT_OWING & (StrayAccount.waived > literal(0))
STRAY_REFUNDED = (
    STRAY_NOT_OWING & (StrayAccount.waived == literal(0)) & (StrayAccount.refunded > literal(0))
)
"""Accounts whose refund was waived or paid. Each has partial indexes by tenant."""
