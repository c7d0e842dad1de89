"""What an organizer's money did, by chain and token. Each figure has one definition, here.

    received   canonical payments of all orders, without what is out of reach
    open       what live orders received, and do not owe back: it is not decided yet
    owed       due to buyers
    refunded   paid back
    waived     owed, and written off by the organizer
    kept       what is left of all other orders: the price of what was sold, less what was forgiven

    received = kept + open + owed + refunded + waived

What an order received on another network than its home is a sum of that network: `open` while it is
not assigned yet, else `owed`. `out_of_reach` is what the organizer cannot pay back there, because
nobody said that they control the address there. It is in none of the figures above.

`unknown_orders` and `unassigned_at_gathering` are in none of these: services/money/unassigned.py.

`collected` was moved from receivers to the organizer's address; `to_collect` can be moved now. A
refund is paid from the organizer's own wallet, so it changes neither of them.

Example: two tickets of 25 are sold, one buyer paid 5 too much, and an unpaid order of 25 has
received 10. received 65 = kept 50 + open 10 + owed 5. After the 5 are sent back, owed is 0 and
refunded 5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from peewee import SQL, Case, fn

from ticketing import clock
from ticketing.chain.registry import LOOK_ALIKES, REGISTRY, Chain
from ticketing.constants import IntentStatus
from ticketing.models.collections import Collection
from ticketing.models.payment_intents import (
    FORGIVEN,
    HAS_MONEY,
    IS_LIVE,
    REST,
    TOLERANT,
    PaymentIntent,
)
from ticketing.models.stray_accounts import StrayAccount
from ticketing.services import chains
from ticketing.services.money import collectable, unassigned
from ticketing.services.money.collectable import NOTHING, Asked, Sum
from ticketing.services.money.unassigned import Unassigned
from ticketing.services.orders import accounts


@dataclass(frozen=True, kw_only=True)
class Figures:
    """The figures in micro-units. The module's docstring defines them.

    `ready`: all that the next collections move, of tokens that orders are paid in now.
    """

    received: int = 0
    kept: int = 0
    open: int = 0
    owed: int = 0
    out_of_reach: int = 0
    refunded: int = 0
    waived: int = 0
    collected: int = 0
    to_collect: Sum = NOTHING
    unknown_orders: Sum = NOTHING
    unassigned_at_gathering: int = 0
    ready: Sum = NOTHING


@dataclass(frozen=True, kw_only=True)
class ChainMoney(Figures):
    """The figures of one token on one chain. `as_of`: the time of the last block in the books.

    `is_payable`: orders are paid in this token now. Otherwise the pages cannot move or pay it back.
    `look_alike`: the symbol of a token that people take for the right one. None: it is no such.
    """

    chain_id: int
    network: str
    token_address: str
    is_payable: bool
    look_alike: str | None
    as_of: datetime | None

    @property
    def name(self) -> str:
        """The network, with the symbol of a look-alike."""
        return self.network if self.look_alike is None else f"{self.network}, {self.look_alike}"


@dataclass(frozen=True)
class Money:
    """The figures of a tenant: one row for each chain and token in which orders were paid."""

    rows: Sequence[ChainMoney]

    @property
    def totals(self) -> Figures:
        """The sums over all rows of tokens that orders are paid in. Look-alikes are left out."""
        none = vars(Figures())
        rows = [row for row in self.rows if row.look_alike is None]
        return Figures(
            **{name: sum((getattr(row, name) for row in rows), none[name]) for name in none}
        )


def forgiven(tenant_id: str) -> Sum:
    """Return what was missing, and accepted, of orders that were confirmed in this month of UTC."""
    first = clock.now().replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    confirmed = PaymentIntent.status == IntentStatus.CONFIRMED
    query = PaymentIntent.select(fn.COUNT(SQL("*")), fn.SUM(FORGIVEN)).where(
        PaymentIntent.tenant == tenant_id,
        PaymentIntent.confirmed_at >= first,
        TOLERANT,
        confirmed,
        FORGIVEN > 0,
    )
    count, amount = query.scalar(as_tuple=True)
    return Sum(int(count), int(amount or 0))


def read(tenant_id: str, enabled: Mapping[int, Chain]) -> Money:
    """Return the figures of a tenant from the books. No node is asked."""
    sums = _sums(tenant_id)
    collected_elsewhere = _collected_elsewhere(tenant_id)
    unknown = unassigned.of_tenant(tenant_id)
    known = chains.states()
    rows = []
    for place in sorted(sums.keys() | unknown.keys()):
        chain_id, token_address = place
        received, owed, refunded, waived, rest, open_, far = sums.get(place, (0,) * 7)
        cursor = chains.cursor_of(known.get(chain_id))
        now = chains.now_on(chain_id, known)
        asked = Asked(tenant_id, chain_id, token_address)
        chain = enabled.get(chain_id) or REGISTRY.get(chain_id)
        apart = unknown.get(place, Unassigned())
        collected, to_collect = collectable.totals(asked, cursor, now)
        all_of_it = to_collect + apart.unknown_orders + Sum(0, apart.at_gathering)
        is_look_alike = token_address in LOOK_ALIKES
        is_payable = chain_id in enabled and enabled[chain_id].token_address == token_address
        rows.append(
            ChainMoney(
                chain_id=chain_id,
                network=f"chain {chain_id}" if chain is None else chain.name,
                token_address=token_address,
                is_payable=is_payable,
                look_alike=LOOK_ALIKES[token_address].symbol if is_look_alike else None,
                as_of=None if cursor is None else cursor.time,
                received=received,
                kept=rest - open_,
                open=open_,
                owed=owed,
                out_of_reach=far,
                refunded=refunded,
                waived=waived,
                collected=collected + collected_elsewhere.get(place, 0),
                to_collect=to_collect,
                unknown_orders=apart.unknown_orders,
                unassigned_at_gathering=apart.at_gathering,
                ready=all_of_it if is_payable else Sum(),
            )
        )
    return Money(rows)


def _sums(tenant_id: str) -> dict[tuple[int, str], tuple[int, ...]]:
    """Return (received, owed, refunded, waived, rest, open, out of reach) by chain and token."""
    # An index has the orders by these columns.
    of_place = (PaymentIntent.chain_id, PaymentIntent.token_address)
    summed = (
        PaymentIntent.amount_received,
        PaymentIntent.refund_due,
        PaymentIntent.refunded,
        PaymentIntent.waived,
        Case(None, [(IS_LIVE, REST)], 0),
    )
    rows: Iterable[Any] = (
        PaymentIntent.select(*of_place, *(fn.SUM(each) for each in summed))
        .where(PaymentIntent.tenant == tenant_id, HAS_MONEY)
        .group_by(*of_place)
        .tuples()
    )
    by_place: dict[tuple[int, str], tuple[int, ...]] = {}

    def add(place: tuple[int, str], sums: Iterable[Any]) -> None:
        before = by_place.get(place, (0,) * 7)
        # Postgres sums as Decimal.
        by_place[place] = tuple(one + int(other) for one, other in zip(before, sums, strict=True))

    for chain_id, token, received, owed, refunded, waived, open_ in rows:
        rest = received - refunded - waived - owed
        add((chain_id, token), (received, owed, refunded, waived, rest, open_, 0))
    for chain_id, token, *sums in _elsewhere(tenant_id):
        add((chain_id, token), sums)
    return by_place


def _elsewhere(tenant_id: str) -> Iterable[Any]:
    """Return the sums of stray accounts, as those of `_sums`."""
    of_chain = (StrayAccount.chain_id, StrayAccount.token_address)
    counted = StrayAccount.amount_received - StrayAccount.refunded - StrayAccount.waived
    far = Case(None, [(~StrayAccount.in_reach & (counted > 0), counted)], 0)
    summed = (
        StrayAccount.amount_received - far,
        StrayAccount.refund_due,
        StrayAccount.refunded,
        StrayAccount.waived,
        counted - far - StrayAccount.refund_due,
        StrayAccount.unassigned,
        far,
    )
    query = (
        StrayAccount.select(*of_chain, *(fn.SUM(each) for each in summed))
        .where(StrayAccount.tenant_id == tenant_id)
        .group_by(*of_chain)
        .having(fn.SUM(StrayAccount.amount_received + StrayAccount.refunded) > 0)
    )
    rows: Iterable[Any] = query.tuples()
    return rows


def _collected_elsewhere(tenant_id: str) -> dict[tuple[int, str], int]:
    """Return what was collected of stray accounts, by chain and token."""
    of_chain = (Collection.chain_id, Collection.token_address)
    collected = (
        Collection.select(*of_chain, fn.SUM(Collection.amount))
        .join(StrayAccount, on=accounts.STRAYS.rows(Collection))
        .where(Collection.canonical, StrayAccount.tenant_id == tenant_id)
        .group_by(*of_chain)
    )
    rows: Iterable[Any] = collected.tuples()
    return {(chain_id, token): int(amount) for chain_id, token, amount in rows}
