"""Which orders hold money, and which of them may be collected, by the books. No node is asked.

Each account of an order is collected on its own chain. An order has one at most in a token there.

A collection moves all that an address holds. So an order is collected as soon as a part of its
money is final, whatever came on top of it: otherwise anybody could hold an order back by sending it
one unit after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from peewee import Case, Expression, ModelSelect, Select, fn

from ticketing.chain import receivers, units
from ticketing.chain.answers import Block
from ticketing.constants import MOST_CONFIRMATIONS, BlockedReason
from ticketing.db.connection import database
from ticketing.models.collections import Collection
from ticketing.models.order_accounts import HAS_MONEY, SEARCHED, OrderAccount
from ticketing.models.payment_intents import IS_HOME, PaymentIntent
from ticketing.models.payments import Payment
from ticketing.models.wallets import Wallet
from ticketing.services.payments import collections

PAGE = 500


@dataclass(frozen=True)
class Order:
    """An order whose address is a receiver.

    `intent_id` None: a backup was restored, and the database does not know the order. `held` is
    what its address must hold of the order's token, in atomic units, and `final` the part of it
    that no reorganization removes. `blocked`: why it may not be collected now, None if it may be.
    """

    intent_id: str | None
    wallet_id: str
    index: int
    address: str
    held: int = 0
    final: int = 0
    blocked: BlockedReason | None = None

    def salt(self, wallet: Wallet) -> bytes:
        """Return the salt of its receiver. `wallet` is its wallet."""
        return receivers.order_salt(bytes.fromhex(wallet.secret or ""), self.index)


@dataclass(frozen=True)
class Sum:
    """So many orders, and what they hold together, in micro-units."""

    orders: int = 0
    amount: int = 0

    def __add__(self, other: Sum) -> Sum:
        return Sum(self.orders + other.orders, self.amount + other.amount)


NOTHING = Sum()


@dataclass(frozen=True)
class Asked:
    """What is collected: a token, or with the zero address the coin, of a tenant on a chain."""

    tenant_id: str
    chain_id: int
    token_address: str


def wallets(tenant_id: str) -> dict[str, Wallet]:
    """Return the tenant's wallets by their ids, former ones too, oldest first."""
    of_tenant = Wallet.tenant_id == tenant_id
    rows = Wallet.select().where(of_tenant).order_by(Wallet.created_at, Wallet.id)
    return {wallet.id: wallet for wallet in rows}


def holding(
    asked: Asked, cursor: Block, now: datetime, *, is_owner_confirmed: bool = False
) -> Iterator[Order]:
    """Yield all orders that hold something of this token by the books, oldest first.

    Blocked are live orders, those that ended less than a day ago, and those that hold nothing
    final at the worker's `cursor`. So is money that is out of reach, unless `is_owner_confirmed`:
    the organizer controls the owners on this chain. An order whose logs are being searched may
    hold something that is not booked yet: `held` is 0. Reads page by page.
    """
    # Most orders were collected long ago. The database leaves them out, so that they cost little.
    holds = HAS_MONEY & (OrderAccount.received > _collected())
    for page in _pages(asked, _is_of(asked) & (holds | SEARCHED)):
        held, pending = collections.held(page), _pending_atomic(page, cursor)
        for account in page:
            final = held[account.id] - pending.get(account.id, 0)
            blocked = None
            if account.collectable_at is None or account.collectable_at > now:
                blocked = BlockedReason.NOT_OVER
            elif not (account.in_reach or is_owner_confirmed):
                blocked = BlockedReason.OUT_OF_REACH
            elif final <= 0:
                blocked = BlockedReason.NOT_FINAL
            yield _order(account, held[account.id], final, blocked)


def totals(asked: Asked, cursor: Block | None, now: datetime) -> tuple[int, Sum]:
    """Return what was collected of orders in this token, and what may be collected of others.

    That is what `holding` yields and does not block. Without a `cursor`, nothing may be collected.
    No order is read.

    Example: 1,000 orders of 5 are over. 600 were collected, and the payment of one is not final:
    3,000 were collected, and 399 orders have 1,995.
    """
    of_account = _of_account(asked, now)
    left = of_account.c.received - of_account.c.collected
    is_left = (left > 0) & of_account.c.is_over
    if cursor is not None:
        is_left &= of_account.c.id.not_in(_nothing_final(asked.chain_id, cursor))
    sums = (
        fn.SUM(of_account.c.collected),
        fn.SUM(Case(None, [(is_left, 1)], 0)),
        fn.SUM(Case(None, [(is_left, left)], 0)),
    )
    ((collected, orders, amount),) = Select([of_account], sums).bind(database).tuples()
    if cursor is None:
        return int(collected or 0), NOTHING
    return int(collected or 0), Sum(int(orders or 0), int(amount or 0))


def _of_account(asked: Asked, now: datetime) -> Any:
    """Select what each account in this token received, and what of it was collected.

    The indexes money_of_tenant and collections_of_account have all of it.
    """
    is_over = (OrderAccount.collectable_at <= now) & OrderAccount.in_reach
    return (
        OrderAccount.select(
            OrderAccount.id,
            OrderAccount.received,
            is_over.alias("is_over"),
            _collected().alias("collected"),
        )
        .where(_is_of(asked), HAS_MONEY)
        # Otherwise the databases add up an account's collections wherever `collected` is used.
        .offset(0)
        .alias("of_account")
    )


def _is_of(asked: Asked) -> Expression:
    """Select the accounts in a token of a tenant on a chain."""
    found: Expression = (
        (OrderAccount.tenant_id == asked.tenant_id)
        & (OrderAccount.chain_id == asked.chain_id)
        & (OrderAccount.token_address == asked.token_address)
    )
    return found


def _nothing_final(chain_id: int, cursor: Block) -> ModelSelect[Payment]:
    """Select the accounts that hold nothing but what is not final at the cursor: a few of a chain.

    Not those without a payment that is not final.
    """
    # By joins, Postgres may read all accounts to find these few.
    account: Any = OrderAccount.alias("account")
    of_payment = account.id == Payment.account
    needed = account.select(account.required_confirmations).where(of_payment)
    held = account.received - _collected_of(account)
    return (
        Payment.select(Payment.account)
        .where(
            Payment.chain_id == chain_id,
            # The index finds these. An order may have more confirmations than its chain has now.
            Payment.block_number > cursor.number - MOST_CONFIRMATIONS,
            Payment.block_number + needed > cursor.number + 1,
            Payment.canonical,
        )
        .group_by(Payment.account)
        .having(fn.SUM(Payment.amount) >= account.select(held).where(of_payment))
    )


def others(asked: Asked, after: str) -> Iterator[Order]:
    """Yield the chain's orders in other tokens after the id `after`, oldest first.

    No book says what they hold of this token: those with an account in it are left out, see
    `holding`. Reads page by page.
    """
    in_token: Any = OrderAccount.alias("in_token")
    of_token = in_token.select(in_token.id).where(
        in_token.intent == OrderAccount.intent,
        in_token.chain_id == asked.chain_id,
        in_token.token_address == asked.token_address,
    )
    # By the orders' columns: those of other chains are left out before their accounts are read.
    of_home = (PaymentIntent.chain_id == asked.chain_id) & IS_HOME
    of_home &= PaymentIntent.token_address != asked.token_address
    for page in _pages(asked, of_home & ~fn.EXISTS(of_token), after):
        yield from map(_order, page)


def issued(asked: Asked) -> Iterator[Order]:
    """Yield all orders of the tenant on all chains, oldest first, with nothing held."""
    for page in _pages(asked, IS_HOME):
        yield from map(_order, page)


def _collected() -> Any:
    """Select what of an account was collected, in micro-units."""
    return _collected_of(OrderAccount)


def _collected_of(account: Any) -> Any:
    # Of one account it is a BIGINT. Postgres counts faster with that than with its Decimal.
    amount = fn.COALESCE(fn.SUM(Collection.amount), 0).cast("BIGINT")
    return Collection.select(amount).where(Collection.account == account.id, Collection.canonical)


def _order(
    account: OrderAccount, held: int = 0, final: int = 0, blocked: BlockedReason | None = None
) -> Order:
    order = account.order
    index = order.address_index or 0
    return Order(order.id, account.wallet_id, index, account.address, held, final, blocked)


def _pages(asked: Asked, condition: Expression, after: str = "") -> Iterator[list[OrderAccount]]:
    """Yield the accounts of the tenant's orders that meet a condition, oldest first, in pages.

    An order has one of them at most.
    """
    query = (
        OrderAccount.select(OrderAccount, PaymentIntent.id, PaymentIntent.address_index)
        .join(PaymentIntent)
        # Of the order: by the accounts' columns, all those of the chain would be read and sorted.
        .where(PaymentIntent.tenant == asked.tenant_id, condition)
        .order_by(PaymentIntent.id)
        .limit(PAGE)
    )
    while page := list(query.where(PaymentIntent.id > after)):
        yield page
        after = page[-1].intent_id


def _pending_atomic(found: Sequence[OrderAccount], cursor: Block) -> dict[int, int]:
    """Return what of each account's payments is not final, in atomic units. Without any: none."""
    of = {account.id: account.terms for account in found}
    final_up_to = {id_: terms.final_up_to(cursor.number) for id_, terms in of.items()}
    # The payments of an account are of its chain. With that in the statement, SQLite would read all
    # payments of the chain.
    rows = Payment.select().where(
        Payment.account.in_(list(of)),
        Payment.block_number > min(final_up_to.values()),
        Payment.canonical,
    )
    pending: dict[int, int] = {}
    for row in rows:
        if row.block_number > final_up_to[row.account_id]:
            atomic = units.to_atomic(row.amount, of[row.account_id].decimals) + row.dust
            pending[row.account_id] = pending.get(row.account_id, 0) + atomic
    return pending
