"""What was moved to organizers before: the collections of each transaction together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from peewee import fn

from ticketing.models.collections import Collection
from ticketing.models.order_accounts import HAS_MONEY, OrderAccount


@dataclass(frozen=True)
class Moved:
    """A transaction that collected so many orders. `amount` is in micro-units."""

    chain_id: int
    tx_hash: str
    amount: int
    orders: int
    at: datetime


def newest(tenant_id: str, limit: int) -> Sequence[Moved]:
    """Return the newest transactions that collected orders of a tenant, at most `limit`.

    A transaction collects one token.
    """
    at = fn.MAX(Collection.block_time)
    of_transaction = Collection.chain_id, Collection.token_address, Collection.tx_hash
    sums = fn.SUM(Collection.amount), fn.COUNT(Collection.intent.distinct()), at
    query = (
        Collection.select(*of_transaction, *sums)
        .join(OrderAccount)
        .where(OrderAccount.tenant_id == tenant_id, HAS_MONEY, Collection.canonical)
        .group_by(*of_transaction)
        .order_by(at.desc(), Collection.tx_hash.desc())
    )
    rows: Iterable[Any] = query.limit(limit).tuples()
    return [
        Moved(chain_id, tx_hash, int(amount), int(orders), time)
        for chain_id, _, tx_hash, amount, orders, time in rows
    ]
