"""What a payer signs to pay refunds back, and which orders are left out of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from ticketing.chain import receivers, refunded_events
from ticketing.chain.payout_calls import PayerState
from ticketing.chain.refunded_events import ListedPayment
from ticketing.constants import PayoutReason
from ticketing.services.money import safe_files
from ticketing.services.money.collectable import Sum
from ticketing.services.payments.payee_states import PayeeState
from ticketing.services.payments.witnesses import SeenPayment

ORDERS_PER_TRANSACTION = 100
"""53,000 gas each: a transaction may have 16.7 million (EIP-7825)."""


@dataclass(frozen=True)
class Step:
    """A transaction to sign: what for, to which contract, and its call data.

    It pays `amount` micro-units for so many `orders`. 0 of both: it pays nothing by itself.
    """

    purpose: str
    to: str
    data: str
    orders: int
    amount: int


@dataclass(frozen=True)
class OrderPayment:
    """A payment that is listed, and its amount in micro-units."""

    intent_id: str
    payment: ListedPayment
    amount: int


@dataclass(frozen=True)
class BlockedOrder:
    """An order that cannot be paid now: what it is due, and why it is not listed.

    `until`: when that ends by itself. `tx_hash`, `payer` and `payment_id`: what was paid with which
    id, as far as it is known.
    """

    intent_id: str
    amount: int
    reason: PayoutReason
    until: datetime | None = None
    tx_hash: str | None = None
    payer: str | None = None
    payment_id: str | None = None


@dataclass(frozen=True)
class OrderOfAnother:
    """An order that another payer may pay until `until`, and what it is due."""

    intent_id: str
    amount: int
    payer: str
    until: datetime


@dataclass(frozen=True)
class UnbookedPayment:
    """A payment of a list that was seen and counts as no refund, and why: see models/payouts.py."""

    intent_id: str
    id: str
    payer: str
    tx_hash: str
    to: str
    reason: str


class ListedId(NamedTuple):
    """An id of a list, and the payer who can use it."""

    payer: str
    id: str


@dataclass(frozen=True)
class PreviewOrder:
    """An order that may stand on a list, and what to look at before.

    `payments` are those that no second node has seen, of which so many are needed to cover the
    refund. `ids` are those of earlier lists whose use is not known.
    """

    intent_id: str
    amount: int
    to: str
    payee: PayeeState
    witnessed: bool
    payments: Sequence[SeenPayment]
    ids: Sequence[ListedId]


@dataclass(frozen=True)
class PayoutPreview:
    """What may stand on a list of a payer, from the books alone. Nothing of it is stored."""

    chain_id: int
    token_address: str
    payer: str
    factory: str
    orders: Sequence[PreviewOrder]
    blocked: Sequence[BlockedOrder]
    listed_for_another: Sequence[OrderOfAnother]
    unbooked: Sequence[UnbookedPayment]
    left: Sum


@dataclass(frozen=True)
class PayoutList:
    """What to sign, and which orders are left out. Amounts are micro-units.

    `balance` and `allowance` are the payer's, at most MAX_SAFE_INTEGER. What is due is `sum` and
    the amounts of `blocked`, of `listed_for_another` and of `left`, which counts the others.
    """

    chain_id: int
    token_address: str
    payer: str
    factory: str
    valid_before: datetime
    sum: int
    balance: int
    allowance: int
    transactions: Sequence[Step]
    payments: Sequence[OrderPayment]
    blocked: Sequence[BlockedOrder]
    listed_for_another: Sequence[OrderOfAnother]
    unbooked: Sequence[UnbookedPayment]
    left: Sum

    @property
    def safe(self) -> dict[str, Any]:
        """The transactions as a file for Safe's Transaction Builder."""
        calls = ((each.to, each.data) for each in self.transactions)
        return safe_files.file_of(self.chain_id, f"Refunds of {len(self.payments)} orders", calls)


def steps(
    token_address: str,
    valid_before: datetime,
    payments: Sequence[OrderPayment],
    state: PayerState,
) -> list[Step]:
    """Return the transactions that pay a list, in the order in which they are signed.

    Example: 150 payments of 2 each, and the payer lets the factory spend 10: an `approve` of 300,
    and two `refund`, of 100 and of 50 orders.
    """
    if not payments:
        return []
    found = []
    if not state.has_factory:
        # A call of an address without code succeeds, and pays nothing.
        found.append(Step("deploy", receivers.PROXY, receivers.deploy_data(), 0, 0))
    atomic = sum(each.payment.atomic_amount for each in payments)
    if state.allowance < atomic:
        data = refunded_events.approve_data(atomic)
        found.append(Step("approve", token_address, data, len(payments), _sum(payments)))
    for start in range(0, len(payments), ORDERS_PER_TRANSACTION):
        some = payments[start : start + ORDERS_PER_TRANSACTION]
        data = refunded_events.refund_data(
            token_address, int(valid_before.timestamp()), [each.payment for each in some]
        )
        found.append(Step("refund", receivers.FACTORY, data, len(some), _sum(some)))
    return found


def _sum(payments: Sequence[OrderPayment]) -> int:
    return sum(each.amount for each in payments)
