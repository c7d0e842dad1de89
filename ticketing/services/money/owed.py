"""What an organizer owes now, by network, and by the way in which it can be paid back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from peewee import fn

from ticketing.models.payment_intents import TO_REFUND, PaymentIntent
from ticketing.models.wallets import Wallet
from ticketing.services.money.collectable import Sum
from ticketing.services.orders import intents

OLDEST = 3
"""How many orders are named."""


@dataclass(frozen=True)
class OwedOn:
    """What is due in one token on one chain, from final payments. Amounts are micro-units.

    `listed`: an account can sign a list of these. `unstated`: the buyer has not said where to.
    `by_hand`: orders of an extended public key, which are on no list. `marked`: those that the
    organizer marked as paid by hand.
    """

    chain_id: int
    token_address: str
    listed: Sum
    unstated: Sum
    by_hand: Sum
    marked: Sum


@dataclass(frozen=True)
class Owed:
    """All that a tenant owes now: by network, how many orders, and the OLDEST of them."""

    networks: Sequence[OwedOn]
    orders: int
    oldest: Sequence[PaymentIntent]


def read(tenant_id: str) -> Owed:
    """Return what a tenant owes now."""
    due = intents.few_of_tenant(tenant_id).where(TO_REFUND)
    oldest = list(due.order_by(PaymentIntent.id).limit(OLDEST))
    networks = _networks(tenant_id) if oldest else []
    orders = sum(
        each.listed.orders + each.unstated.orders + each.by_hand.orders + each.marked.orders
        for each in networks
    )
    return Owed(networks, orders, oldest)


def names(tenant_id: str, intent_ids: Collection[str]) -> Mapping[str, str]:
    """Return the names of buyers, or else their email addresses, by order. Without both: none."""
    if not intent_ids:
        return {}
    shown = PaymentIntent.id, PaymentIntent.buyer_name, PaymentIntent.buyer_email
    query = PaymentIntent.select(*shown).where(
        PaymentIntent.tenant == tenant_id, PaymentIntent.id.in_(list(intent_ids))
    )
    rows: Iterable[Any] = query.tuples()
    return {id_: name or email for id_, name, email in rows if name or email}


def _networks(tenant_id: str) -> Sequence[OwedOn]:
    of_chain = PaymentIntent.chain_id, PaymentIntent.token_address
    ways = (
        Wallet.owner.is_null(),
        PaymentIntent.refund_by_hand_at.is_null(False),
        PaymentIntent.refund_address.is_null(),
    )
    due = fn.SUM(PaymentIntent.refund_due - PaymentIntent.refund_pending)
    query = (
        intents.few_of_tenant(tenant_id)
        .select(*of_chain, *ways, fn.COUNT(PaymentIntent.id), due)
        .join(Wallet)
        .where(TO_REFUND)
        .group_by(*of_chain, *ways)
    )
    sums: dict[tuple[int, str], dict[str, Sum]] = {}
    none = dict.fromkeys(("listed", "unstated", "by_hand", "marked"), Sum())
    rows: Iterable[Any] = query.tuples()
    for chain_id, token_address, is_xpub, is_marked, is_unstated, orders, amount in rows:
        way = "unstated" if is_unstated else "listed"
        way = "by_hand" if is_xpub else "marked" if is_marked else way
        of_place = sums.setdefault((chain_id, token_address), {**none})
        # Postgres sums as Decimal.
        of_place[way] += Sum(int(orders), int(amount))
    return [
        OwedOn(*place, found["listed"], found["unstated"], found["by_hand"], found["marked"])
        for place, found in sorted(sums.items())
    ]
