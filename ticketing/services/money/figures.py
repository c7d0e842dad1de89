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

from peewee import SQL, fn

from ticketing import clock
from ticketing.chain.registry import LOOK_ALIKES, REGISTRY, Chain
from ticketing.constants import IntentStatus
from ticketing.models.order_accounts import HAS_MONEY, OrderAccount
from ticketing.models.payment_intents import FORGIVEN, TOLERANT, PaymentIntent
from ticketing.services import chains
from ticketing.services.money import collectable, unassigned
from ticketing.services.money.collectable import NOTHING, Asked, Sum
from ticketing.services.money.unassigned import Unassigned


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
    unknown = unassigned.of_tenant(tenant_id)
    known = chains.states()
    rows = []
    for place in sorted(sums.keys() | unknown.keys()):
        chain_id, token_address = place
        received, kept, open_, owed, far, refunded, waived = sums.get(place, (0,) * 7)
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
                kept=kept,
                open=open_,
                owed=owed,
                out_of_reach=far,
                refunded=refunded,
                waived=waived,
                collected=collected,
                to_collect=to_collect,
                unknown_orders=apart.unknown_orders,
                unassigned_at_gathering=apart.at_gathering,
                ready=all_of_it if is_payable else Sum(),
            )
        )
    return Money(rows)


def _sums(tenant_id: str) -> dict[tuple[int, str], tuple[int, ...]]:
    """Return (received, kept, open, owed, out of reach, refunded, waived) by chain and token."""
    # An index has all of it.
    of_place = (OrderAccount.chain_id, OrderAccount.token_address)
    summed = (
        OrderAccount.received - OrderAccount.out_of_reach,
        OrderAccount.kept,
        OrderAccount.open,
        OrderAccount.due,
        OrderAccount.out_of_reach,
        OrderAccount.refunded,
        OrderAccount.waived,
    )
    rows: Iterable[Any] = (
        OrderAccount.select(*of_place, *(fn.SUM(each) for each in summed))
        .where(OrderAccount.tenant_id == tenant_id, HAS_MONEY)
        .group_by(*of_place)
        .tuples()
    )
    # Postgres sums as Decimal.
    return {(chain_id, token): tuple(map(int, sums)) for chain_id, token, *sums in rows}
