"""Which orders hold money, and which of them may be collected, by the books. No node is asked.

What an order received on its home, and what it received elsewhere, are different accounts. Each is
collected on its own chain. An order has one account at most in a token on a chain.

A collection moves all that an address holds. So an order is collected as soon as a part of its
money is final, whatever came on top of it: otherwise anybody could hold an order back by sending it
one unit after the other.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from peewee import SQL, Case, Expression, ModelSelect, Select, fn

from ticketing.chain import receivers, units
from ticketing.chain.answers import Block
from ticketing.constants import (
    MOST_CONFIRMATIONS,
    WATCH_AFTER_END,
    BlockedReason,
    IntentStatus,
)
from ticketing.db.connection import database
from ticketing.models.base import literal
from ticketing.models.collections import Collection
from ticketing.models.payment_intents import HAS_MONEY, PaymentIntent
from ticketing.models.payments import PAYMENT_AT_HOME, Payment
from ticketing.models.stray_accounts import SEARCHED, Account, StrayAccount, id_of
from ticketing.models.wallets import Wallet
from ticketing.services.orders import accounts
from ticketing.services.orders.accounts import Kind
from ticketing.services.payments import collections

PAGE = 500
ENDED = (IntentStatus.EXPIRED, IntentStatus.CANCELED)


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
    pages = _homes(asked), _strays(asked)
    found = (_in_pages(each, cursor, now, is_owner_confirmed) for each in pages)
    return heapq.merge(*found, key=lambda order: order.intent_id or "")


def _in_pages(
    pages: Iterator[list[Any]], cursor: Block, now: datetime, is_owner_confirmed: bool
) -> Iterator[Order]:
    for page in pages:
        held, pending = collections.held(page), _pending_atomic(page, cursor)
        for account in page:
            final = held[account.id] - pending.get(account.id, 0)
            blocked = None
            if not _has_ended(account.order, now):
                blocked = BlockedReason.NOT_OVER
            elif account.stray and not (account.in_reach or is_owner_confirmed):
                blocked = BlockedReason.OUT_OF_REACH
            elif final <= 0:
                blocked = BlockedReason.NOT_FINAL
            yield _order(account, held[account.id], final, blocked)


def _homes(asked: Asked) -> Iterator[list[PaymentIntent]]:
    # Most orders were collected long ago. The database leaves them out, so that they cost little.
    holds = PaymentIntent.amount_received > _collected(accounts.HOMES)
    in_token = PaymentIntent.token_address == asked.token_address
    return _pages(asked, in_token & HAS_MONEY & holds)


def _strays(asked: Asked) -> Iterator[list[Any]]:
    after = ""
    holds = StrayAccount.amount_received > _collected(accounts.STRAYS)
    query = _of_token(asked).where(holds | SEARCHED).order_by(StrayAccount.id).limit(PAGE)
    while page := list(query.where(StrayAccount.id > after)):
        yield page
        after = page[-1].id


def _of_token(asked: Asked) -> ModelSelect[StrayAccount]:
    """Select the stray accounts in this token that have receivers."""
    return (
        StrayAccount.select(StrayAccount, PaymentIntent)
        .join(PaymentIntent)
        .where(
            StrayAccount.tenant_id == asked.tenant_id,
            StrayAccount.chain_id == asked.chain_id,
            StrayAccount.token_address == asked.token_address,
            PaymentIntent.wallet.in_(list(wallets(asked.tenant_id))),
        )
    )


def totals(asked: Asked, cursor: Block | None, now: datetime) -> tuple[int, Sum]:
    """Return what was collected of orders in this token, and what may be collected of others.

    That is what `holding` yields and does not block. Of stray accounts, only the latter. Without a
    `cursor`, nothing may be collected. No order is read.

    Example: 1,000 orders of 5 are over. 600 were collected, and the payment of one is not final:
    3,000 were collected, and 399 orders have 1,995.
    """
    of_order = _of_order(asked, now)
    left = of_order.c.received - of_order.c.collected
    is_left = (left > 0) & of_order.c.is_over
    if cursor is not None:
        is_left &= of_order.c.id.not_in(_nothing_final(asked.chain_id, cursor))
    sums = (
        fn.SUM(of_order.c.collected),
        fn.SUM(Case(None, [(is_left, 1)], 0)),
        fn.SUM(Case(None, [(is_left, left)], 0)),
    )
    ((collected, orders, amount),) = Select([of_order], sums).bind(database).tuples()
    if cursor is None:
        return int(collected or 0), NOTHING
    at_home = Sum(int(orders or 0), int(amount or 0))
    return int(collected or 0), at_home + _total_elsewhere(asked, cursor, now)


def _of_order(asked: Asked, now: datetime) -> Any:
    """Select what each order in this token received, and what of it was collected.

    The indexes money_of_tenant and collections_intent have all of it.
    """
    return (
        PaymentIntent.select(
            PaymentIntent.id,
            PaymentIntent.amount_received.alias("received"),
            _is_over(now).alias("is_over"),
            _collected(accounts.HOMES).alias("collected"),
        )
        .where(
            PaymentIntent.tenant == asked.tenant_id,
            PaymentIntent.chain_id == asked.chain_id,
            PaymentIntent.token_address == asked.token_address,
            PaymentIntent.wallet.in_(list(wallets(asked.tenant_id))),
            HAS_MONEY,
        )
        # Otherwise the databases add up an order's collections wherever `collected` is used.
        .offset(0)
        .alias("of_order")
    )


def _total_elsewhere(asked: Asked, cursor: Block, now: datetime) -> Sum:
    newest = cursor.number + 1 - StrayAccount.required_confirmations
    pending = Payment.select(fn.COALESCE(fn.SUM(Payment.amount), 0).cast("BIGINT")).where(
        accounts.STRAYS.rows(Payment), Payment.canonical, Payment.block_number > newest
    )
    held = StrayAccount.amount_received - _collected(accounts.STRAYS)
    query = _of_token(asked).where(_is_over(now), StrayAccount.in_reach, held > 0, held > pending)
    rows: Any = query.select(fn.COUNT(SQL("*")), fn.SUM(held)).tuples()
    ((orders, amount),) = rows
    return Sum(int(orders), int(amount or 0))


def _nothing_final(chain_id: int, cursor: Block) -> ModelSelect[Payment]:
    """Select the intents that hold nothing but what is not final at the cursor: a few of a chain.

    Not those without a payment that is not final.
    """
    # By joins, Postgres may read all orders to find these few.
    of_payment = PaymentIntent.id == Payment.intent
    needed = PaymentIntent.select(PaymentIntent.required_confirmations).where(of_payment)
    held = PaymentIntent.amount_received - _collected(accounts.HOMES)
    return (
        Payment.select(Payment.intent)
        .where(
            Payment.chain_id == chain_id,
            # The index finds these. An order may have more confirmations than its chain has now.
            Payment.block_number > cursor.number - MOST_CONFIRMATIONS,
            Payment.block_number + needed > cursor.number + 1,
            Payment.canonical,
            PAYMENT_AT_HOME,
        )
        .group_by(Payment.intent)
        .having(fn.SUM(Payment.amount) >= PaymentIntent.select(held).where(of_payment))
    )


def others(asked: Asked, after: str) -> Iterator[Order]:
    """Yield the chain's orders in other tokens after the id `after`, oldest first.

    No book says what they hold of this token: those with a stray account in it are left out, see
    `holding`. Reads page by page.
    """
    in_others = PaymentIntent.token_address != asked.token_address
    # By the id: with the chain, the database might read all strays of it for each order.
    id_ = id_of("", asked.chain_id, asked.token_address)
    of_token = StrayAccount.select(StrayAccount.id).where(
        StrayAccount.id == PaymentIntent.id.concat(id_)
    )
    for page in _pages(asked, in_others & ~fn.EXISTS(of_token), after):
        yield from map(_order, page)


def issued(asked: Asked) -> Iterator[Order]:
    """Yield all orders of the tenant on all chains, oldest first, with nothing held."""
    for page in _pages(asked, None):
        yield from map(_order, page)


def _is_over(now: datetime) -> Any:
    """Select orders that are sold, or that ended long enough ago that no payment may count."""
    return (PaymentIntent.status == literal(IntentStatus.CONFIRMED)) | (
        PaymentIntent.status.in_(ENDED) & (PaymentIntent.ended_at <= now - WATCH_AFTER_END)
    )


def _has_ended(order: PaymentIntent, now: datetime) -> bool:
    """Return whether `_is_over` selects an order."""
    if order.status in ENDED:
        return bool(order.ended_at <= now - WATCH_AFTER_END)
    return bool(order.status == IntentStatus.CONFIRMED)


def _collected(kind: Kind) -> Any:
    """Select what of an account was collected, in micro-units."""
    # Of one order it is a BIGINT. Postgres counts faster with that than with its Decimal.
    amount = fn.COALESCE(fn.SUM(Collection.amount), 0).cast("BIGINT")
    return Collection.select(amount).where(kind.rows(Collection), Collection.canonical)


def _order(
    account: Account, held: int = 0, final: int = 0, blocked: BlockedReason | None = None
) -> Order:
    order, address = account.order, account.terms.address
    index = order.address_index or 0
    return Order(order.id, str(order.wallet_id), index, address, held, final, blocked)


def _pages(
    asked: Asked, condition: Expression | None, after: str = ""
) -> Iterator[list[PaymentIntent]]:
    """Yield the orders with receivers in pages. Without a condition, those of all chains."""
    of_receivers = PaymentIntent.wallet.in_(list(wallets(asked.tenant_id)))
    query = (
        PaymentIntent.select()
        .where(PaymentIntent.tenant == asked.tenant_id, of_receivers)
        .order_by(PaymentIntent.id)
        .limit(PAGE)
    )
    if condition is not None:
        query = query.where(PaymentIntent.chain_id == asked.chain_id, condition)
    while page := list(query.where(PaymentIntent.id > after)):
        yield page
        after = page[-1].id


def _pending_atomic(found: Sequence[Account], cursor: Block) -> dict[str, int]:
    """Return what of each account's payments is not final, in atomic units. Without any: none."""
    of = {account.id: account.terms for account in found}
    final_up_to = {id_: terms.final_up_to(cursor.number) for id_, terms in of.items()}
    # The payments of an account are of its chain. With that in the statement, SQLite would read all
    # payments of the chain.
    rows = Payment.select().where(
        Payment.intent.in_([account.intent_id for account in found]),
        Payment.block_number > min(final_up_to.values()),
        Payment.canonical,
    )
    pending: dict[str, int] = {}
    for row in rows:
        account_id = row.stray or row.intent_id
        if account_id in of and row.block_number > final_up_to[account_id]:
            atomic = units.to_atomic(row.amount, of[account_id].decimals) + row.dust
            pending[account_id] = pending.get(account_id, 0) + atomic
    return pending
