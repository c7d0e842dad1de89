"""The accounts of orders: the books of an order on one chain, in one token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from peewee import (
    AutoField,
    BigIntegerField,
    BooleanField,
    DeferredForeignKey,
    IntegerField,
    TextField,
)

from ticketing.models.base import BaseModel, UtcDateTimeField, literal

if TYPE_CHECKING:
    from ticketing.models.payment_intents import PaymentIntent


@dataclass(frozen=True)
class PaymentTerms:
    """How to pay an order: chain, address, token and confirmations, as shown to the buyer."""

    chain_id: int
    address: str
    token_address: str
    decimals: int
    required_confirmations: int

    def final_up_to(self, head: int) -> int:
        """Return the number of the last block whose payments are final."""
        return head - self.required_confirmations + 1


class OrderAccount(BaseModel):
    """The books of one order on a chain, and in a token. A free order has none.

    An order is paid in one of its accounts, its home: the one with the order's own chain and token.
    Its address is the same on each chain, so money may arrive on others. An account of these, a
    stray, exists once money was seen there, or once it was the home. Its rows (payments, refunds,
    waivers, payees, collections) have its `id` as their `account_id`. Amounts are micro-units.

    From `tenant_id` to `address`: copies of what never changes, so that no sum needs a join.
    `is_option`: the order can be paid there. Then the account may become the home:
    services/payments/adoption.py. `in_reach`: the organizer says to control the address there. What
    is not in reach is not owed yet.

    received = kept + open + due + out_of_reach + refunded + waived

    `kept`: of an order that is sold. `open`: it is not decided yet, as the order is live, or, of a
    stray, as it may still become the home. `final` is the part of `received` in final blocks,
    `pending_block` the first block after them with a payment, and `pending` the part of `due` that
    is not final. `kept` of a home is negative if a reorganization removed money that was paid back.

    `refund_address` is the payee that counts. `by_hand_at`: since when the organizer pays the
    refund by hand. Such an account is on no list of payouts. `asked_back_at`: the buyer wants a
    stray's money back; since then it is owed.

    `watch_until`: until when the worker reads the logs of the address; None while the order is
    live, and then it reads them. `sold_at`: when its order was confirmed. `collectable_at`: when
    its money may be collected, None if that is not known yet. All three follow from the order's
    state.

    After `watch_until`, the worker compares the balance: `swept_balance` is the balance at
    `swept_at`, in atomic units. All transfers up to `checked_block` are known. `search_to` is the
    block up to which the logs must be read again, or None.
    """

    id = AutoField()
    intent = DeferredForeignKey("PaymentIntent", backref="account_rows")
    intent_id: str
    chain_id = BigIntegerField()
    token_address = TextField()
    tenant_id = TextField()
    event_id = TextField()
    wallet_id = TextField()
    address = TextField()
    symbol = TextField(null=True)
    token_decimals = IntegerField()
    required_confirmations = IntegerField()
    early_confirmations = IntegerField(null=True)
    is_option = BooleanField()
    in_reach = BooleanField()
    received = BigIntegerField(default=0)
    final = BigIntegerField(default=0)
    kept = BigIntegerField(default=0)
    open = BigIntegerField(default=0)
    due = BigIntegerField(default=0)
    pending = BigIntegerField(default=0)
    out_of_reach = BigIntegerField(default=0)
    refunded = BigIntegerField(default=0)
    waived = BigIntegerField(default=0)
    pending_block = BigIntegerField(null=True)
    asked_back_at = UtcDateTimeField(null=True)
    refund_address = TextField(null=True)
    by_hand_at = UtcDateTimeField(null=True)
    watch_until = UtcDateTimeField(null=True)
    sold_at = UtcDateTimeField(null=True)
    collectable_at = UtcDateTimeField(null=True)
    checked_block = BigIntegerField(null=True)
    search_to = BigIntegerField(null=True)
    swept_at = UtcDateTimeField(null=True)
    swept_balance = TextField(null=True)

    # No columns: services set these on an instance for its response.
    refunds: Sequence[Any] = ()
    payee: Any  # of services/orders/payees_shown.py

    class Meta:
        table_name = "order_accounts"
        indexes = ((("intent", "chain_id", "token_address"), True),)

    @property
    def order(self) -> PaymentIntent:
        """The order that it belongs to."""
        intent: PaymentIntent = self.intent
        return intent

    @property
    def is_home(self) -> bool:
        """Whether the order is paid in it."""
        order = self.order
        return self.chain_id == order.chain_id and self.token_address == order.token_address

    @property
    def currency(self) -> str:
        """What its token is called: of the home, what the order says. If unknown, that too."""
        return str(self.order.currency if self.is_home else self.symbol or self.order.currency)

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
    def counted(self) -> int:
        """What was received, and neither refunded nor waived."""
        return int(self.received - self.refunded - self.waived)

    @property
    def due_now(self) -> int:
        """The refund that is due from final payments."""
        return int(self.due - self.pending)

    @property
    def returnable_now(self) -> int:
        """What can be paid back now: what is due, and of a stray what may still become the home.

        Example: Ada's 4 on Polygon are open, and the organizer sends them back by hand. Then they
        cannot pay for her order any more.
        """
        if self.is_home:
            return self.due_now
        final = int(self.final - self.refunded - self.waived)
        return max(0, min(self.counted, final)) if self.in_reach else 0

    @property
    def may_be_home(self) -> bool:
        """Whether its order may be paid in it, and the buyer did not want its money back."""
        return bool(self.is_option and self.in_reach and self.asked_back_at is None)

    @property
    def asked_back(self) -> bool:
        """Whether the buyer wanted its money back. Then it never pays for the order."""
        return self.asked_back_at is not None


NOT_FINAL = OrderAccount.received > OrderAccount.final
"""Accounts with a payment that is not final. They have a partial index."""

SEARCHED = OrderAccount.search_to.is_null(False)
"""Accounts whose logs are searched. They have a partial index."""

OWING = OrderAccount.due > literal(0)
"""Accounts that owe something. They have partial indexes by tenant, as the next ones."""

TO_REFUND = OWING & (OrderAccount.due > OrderAccount.pending)
"""Accounts with a refund that can be paid now."""

NOT_OWING = OrderAccount.due == literal(0)
WAIVED = NOT_OWING & (OrderAccount.waived > literal(0))
REFUNDED = NOT_OWING & (OrderAccount.waived == literal(0)) & (OrderAccount.refunded > literal(0))
"""The few accounts whose refund was waived or paid."""

HAS_MONEY = (OrderAccount.received > literal(0)) | (OrderAccount.refunded > literal(0))
"""Accounts that were paid, at least in part. They have partial indexes."""
