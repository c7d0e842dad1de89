"""What was moved to organizers before: the collections of each transaction together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from peewee import fn

from ticketing.models.collections import Collection
from ticketing.models.payment_intents import HAS_MONEY, PaymentIntent


@dataclass(frozen=True)
class Moved:
    """A transaction that collected so many orders. `amount` is in micro-units."""

    chain_id: int
    tx_hash: str
    amount: int
    orders: int
    at: datetime


def newest(tenant_id: str, limit: int) -> Sequence[Moved]:
    """Return the newest transactions that collected orders of a tenant, at most `limit`."""
    at = fn.MAX(Collection.block_time)
    query = (
        Collection.select(
            Collection.chain_id,
            Collection.tx_hash,
            fn.SUM(Collection.amount),
            fn.COUNT(Collection.intent.distinct()),
            at,
        )
        .join(PaymentIntent)
        .where(PaymentIntent.tenant == tenant_id, HAS_MONEY, Collection.canonical)
        .group_by(Collection.chain_id, Collection.tx_hash)
        .order_by(at.desc(), Collection.tx_hash)
        .limit(limit)
    )
    rows: Iterable[Any] = query.tuples()
    return [
        Moved(chain_id, tx_hash, int(amount), int(orders), time)
        for chain_id, tx_hash, amount, orders, time in rows
    ]
