"""Addresses that x402 clients are told before there is an order.

A process takes a block of indexes from a wallet, and gives them out from memory, so that most
requests write nothing. Each address is of one request only. What is paid to one without an order is
found by its balance, like that of orders that a backup does not have (money/unassigned.py).

Example: a wallet's next index is 700. A process takes 700 to 799. The first client is told the
address of 700, signs, and gets an order with it. The next one is told 701, and does not come back.
An order by preflight gets 800.
"""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from peewee import fn

from ticketing import clock
from ticketing.constants import IntentStatus
from ticketing.db.connection import database, one_at_a_time, write_transaction
from ticketing.errors import TooManyAddresses
from ticketing.limits import NAMED_PER_WALLET
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.unassigned_money import SkippedIndexes
from ticketing.models.wallets import Wallet
from ticketing.services.wallets import issuing

BLOCK = 100
"""How many indexes a process takes at once. Those that it has left when it ends are lost."""

_A_RANGE_GROWS_FOR = timedelta(hours=1)
_RETRY_AFTER = 3600

_blocks: defaultdict[str, deque[int]] = defaultdict(deque)
"""The indexes that this process has left of each wallet."""

_taking = threading.Lock()
"""Of the threads that find no index left, one takes a block for all."""


@dataclass(frozen=True)
class NamedAddress:
    """An address without an order. `blocks`: the last block of each chain that was read before."""

    wallet_id: str
    index: int
    address: str
    blocks: Mapping[int, int]


def take(wallet: Wallet, blocks: Mapping[int, int]) -> NamedAddress:
    """Return an address of a wallet that nobody else is told.

    TooManyAddresses if NAMED_PER_WALLET were named in the last 24 hours, after the last one of a
    paid order. A search with the recovery file goes on for 5,000,000 indexes without money.
    """
    left = _blocks[wallet.id]
    with _taking:
        if not left:
            first = take_block(wallet.id)
            left.extend(range(first, first + BLOCK))
        index = left.popleft()
    return NamedAddress(wallet.id, index, issuing.address_of(wallet, index), blocks)


def take_block(wallet_id: str) -> int:
    """Take the next indexes of a wallet, note that they have no order, and return the first.

    TooManyAddresses.
    """
    if database.in_transaction():
        # If it were undone, the same indexes would be given out twice.
        raise AssertionError("addresses are named outside transactions")
    now = clock.now()
    with write_transaction():
        # Not the lock of the wallet: orders need not wait for requests that are refused.
        one_at_a_time(f"addresses that are named of {wallet_id}")
        if _named(wallet_id) + BLOCK > NAMED_PER_WALLET:
            raise TooManyAddresses(retry_after=_RETRY_AFTER)
        taken = Wallet.update(next_index=Wallet.next_index + BLOCK).where(Wallet.id == wallet_id)
        (wallet,) = taken.returning(Wallet.next_index).execute()
        following = int(wallet.next_index)
        first = following - BLOCK
        grows = SkippedIndexes.update(next=following).where(
            SkippedIndexes.wallet == wallet_id,
            SkippedIndexes.next == first,
            SkippedIndexes.named,
            SkippedIndexes.skipped_at > now - _A_RANGE_GROWS_FOR,
        )
        if not grows.execute():
            SkippedIndexes.create(
                wallet=wallet_id, first=first, next=following, named=True, skipped_at=now
            )
    return first


def _named(wallet_id: str) -> int:
    """Return how many indexes were named in the last day, after the last one with a paid order."""
    rows = SkippedIndexes.select(SkippedIndexes.first, SkippedIndexes.next).where(
        SkippedIndexes.wallet == wallet_id,
        SkippedIndexes.named,
        SkippedIndexes.skipped_at > clock.now() - timedelta(days=1),
    )
    ranges = [(int(row.first), int(row.next)) for row in rows]
    total = sum(following - first for first, following in ranges)
    if total + BLOCK <= NAMED_PER_WALLET:
        return total
    paid = PaymentIntent.select(fn.MAX(PaymentIntent.address_index)).where(
        PaymentIntent.wallet == wallet_id,
        PaymentIntent.address_index >= min(first for first, _ in ranges),
        PaymentIntent.status == IntentStatus.CONFIRMED,
    )
    last = int(paid.scalar() or 0)
    return sum(max(0, following - max(first, last + 1)) for first, following in ranges)
