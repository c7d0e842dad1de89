"""What was moved to organizers before: the collections of each transaction together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from peewee import fn

from ticketing.models.collections import Collection
from ticketing.models.payment_intents import HAS_MONEY, PaymentIntent
from ticketing.models.stray_accounts import StrayAccount
from ticketing.services.orders import accounts
from ticketing.services.orders.accounts import Kind


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

    A transaction collects one token. What it collected of homes and of stray accounts counts
    together.
    """
    found: dict[tuple[int, str, str], Moved] = {}
    for kind in accounts.KINDS:
        for (chain_id, token, tx_hash), amount, orders, at in _newest(kind, tenant_id, limit):
            key = chain_id, token, tx_hash
            before = found.get(key, Moved(chain_id, tx_hash, 0, 0, at))
            sums = before.amount + amount, before.orders + orders
            found[key] = Moved(chain_id, tx_hash, *sums, at)
    return sorted(found.values(), key=lambda each: (each.at, each.tx_hash), reverse=True)[:limit]


def _newest(kind: Kind, tenant_id: str, limit: int) -> Iterable[Any]:
    at = fn.MAX(Collection.block_time)
    of_transaction = Collection.chain_id, Collection.token_address, Collection.tx_hash
    sums = fn.SUM(Collection.amount), fn.COUNT(Collection.intent.distinct()), at
    query = Collection.select(*of_transaction, *sums)
    if kind is accounts.STRAYS:
        query = query.join(StrayAccount, on=kind.rows(Collection))
        query = query.where(StrayAccount.tenant_id == tenant_id)
    else:
        query = query.join(PaymentIntent, on=kind.rows(Collection))
        query = query.where(PaymentIntent.tenant == tenant_id, HAS_MONEY)
    query = query.where(Collection.canonical).group_by(*of_transaction)
    rows: Iterable[Any] = query.order_by(at.desc(), Collection.tx_hash.desc()).limit(limit).tuples()
    for chain_id, token, tx_hash, amount, orders, time in rows:
        yield (chain_id, token, tx_hash), int(amount), int(orders), time
