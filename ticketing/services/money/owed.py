"""What an organizer owes now, by network, and by the way in which it can be paid back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from peewee import SQL, fn

from ticketing.models.order_accounts import TO_REFUND, OrderAccount
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services.money.collectable import Sum
from ticketing.services.orders import accounts
from ticketing.services.payments import payee_states

OLDEST = 3
"""How many orders are named."""


@dataclass(frozen=True)
class OwedOn:
    """What is due in one token on one chain, from final payments. Amounts are micro-units.

    `listed`: an account can sign a list of these. `unstated`: the buyer has not said where to.
    `waiting`: the buyer has stated an address that does not count yet.
    `by_hand`: the organizer marked it as paid by hand.
    """

    chain_id: int
    token_address: str
    listed: Sum
    unstated: Sum
    waiting: Sum
    by_hand: Sum


@dataclass(frozen=True)
class Owed:
    """All that a tenant owes now: by network, how many refunds, and the OLDEST of them.

    `orders` counts an order once for each of its accounts that owes.
    """

    networks: Sequence[OwedOn]
    orders: int
    oldest: Sequence[OrderAccount]


def read(tenant_id: str) -> Owed:
    """Return what a tenant owes now."""
    due = accounts.of_tenant(tenant_id).where(TO_REFUND)
    oldest = list(due.order_by(OrderAccount.intent, OrderAccount.id).limit(OLDEST))
    networks = _networks(tenant_id) if oldest else []
    orders = sum(
        each.listed.orders + each.unstated.orders + each.waiting.orders + each.by_hand.orders
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
    sums: dict[tuple[int, str], dict[str, Sum]] = {}
    none = dict.fromkeys(("listed", "unstated", "waiting", "by_hand"), Sum())
    for chain_id, token_address, *ways, orders, amount in _sums(tenant_id):
        is_by_hand, is_unstated, waits = ways
        way = "waiting" if waits else "unstated" if is_unstated else "listed"
        way = "by_hand" if is_by_hand else way
        of_place = sums.setdefault((chain_id, token_address), {**none})
        # Postgres sums as Decimal.
        of_place[way] += Sum(int(orders), int(amount))
    return [OwedOn(*place, *found.values()) for place, found in sorted(sums.items())]


def _sums(tenant_id: str) -> Iterable[Any]:
    """Return what is due by network, token, and the ways in which it is paid back."""
    of_place = OrderAccount.chain_id, OrderAccount.token_address
    ways = OrderAccount.by_hand_at.is_null(False), OrderAccount.refund_address.is_null()
    waits = payee_states.waiting().alias("waits")
    due = fn.SUM(OrderAccount.due - OrderAccount.pending)
    query = (
        accounts.of_tenant(tenant_id)
        .select(*of_place, *ways, waits, fn.COUNT(OrderAccount.id), due)
        .where(TO_REFUND)
        .group_by(*of_place, *ways, SQL("waits"))
    )
    rows: Iterable[Any] = query.tuples()
    return rows
