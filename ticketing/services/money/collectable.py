"""Which orders may be collected, by the books. The chain is not asked here.

What an order received on its home, and what it received elsewhere, are different accounts. Each is
collected on its own chain. An order has one account at most in a token on a chain.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from peewee import SQL, Case, Expression, ModelSelect, Select, fn

from ticketing.chain import receivers
from ticketing.chain.answers import Block
from ticketing.constants import MOST_CONFIRMATIONS, WATCH_AFTER_END, IntentStatus
from ticketing.db.connection import database
from ticketing.models.base import literal
from ticketing.models.collections import Collection
from ticketing.models.payment_intents import HAS_MONEY, PaymentIntent
from ticketing.models.payments import PAYMENT_AT_HOME, Payment
from ticketing.models.stray_accounts import Account, StrayAccount, id_of
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
    what its address must hold of the order's token, in atomic units.
    """

    intent_id: str | None
    wallet_id: str
    index: int
    address: str
    held: int

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
    """Return the tenant's wallets of an address by their ids, former ones too, oldest first."""
    of_tenant = (Wallet.tenant_id == tenant_id) & Wallet.owner.is_null(False)
    rows = Wallet.select().where(of_tenant).order_by(Wallet.created_at, Wallet.id)
    return {wallet.id: wallet for wallet in rows}


def booked(
    asked: Asked, cursor: Block, now: datetime, *, is_owner_confirmed: bool = False
) -> Iterator[Order]:
    """Yield the orders that hold something of this token and may be collected, oldest first.

    Live orders are left out, those that ended less than a day ago, and those with a payment that is
    not final at the worker's `cursor`: a reorganization may remove it. So is money that is out of
    reach, unless `is_owner_confirmed`: the organizer controls the owners on this chain. Reads page
    by page.
    """
    homes = _booked(asked, cursor, _homes(asked, now))
    strays = _booked(asked, cursor, _strays(asked, now, with_out_of_reach=is_owner_confirmed))
    return heapq.merge(homes, strays, key=lambda order: order.intent_id or "")


def _booked(asked: Asked, cursor: Block, pages: Iterator[list[Any]]) -> Iterator[Order]:
    for page in pages:
        held, newest = collections.held_atomic(page), _newest_blocks(page)
        for account in page:
            is_final = newest.get(account.id, 0) <= account.terms.final_up_to(cursor.number)
            if is_final and held[account.id] > 0:
                yield _order(account, held[account.id])


def _homes(asked: Asked, now: datetime) -> Iterator[list[PaymentIntent]]:
    # Most orders were collected long ago. The database leaves them out, so that they cost little.
    holds = PaymentIntent.amount_received > _collected(accounts.HOMES)
    in_token = PaymentIntent.token_address == asked.token_address
    return _pages(asked, in_token & _is_over(now) & HAS_MONEY & holds)


def _strays(asked: Asked, now: datetime, *, with_out_of_reach: bool) -> Iterator[list[Any]]:
    after = ""
    query = _held_elsewhere(asked, now).order_by(StrayAccount.id).limit(PAGE)
    if not with_out_of_reach:
        query = query.where(StrayAccount.in_reach)
    while page := list(query.where(StrayAccount.id > after)):
        yield page
        after = page[-1].id


def _held_elsewhere(asked: Asked, now: datetime) -> ModelSelect[StrayAccount]:
    """Select the stray accounts of orders that are over, whose receivers hold something."""
    return (
        StrayAccount.select(StrayAccount, PaymentIntent)
        .join(PaymentIntent)
        .where(
            StrayAccount.tenant_id == asked.tenant_id,
            StrayAccount.chain_id == asked.chain_id,
            StrayAccount.token_address == asked.token_address,
            StrayAccount.amount_received > _collected(accounts.STRAYS),
            PaymentIntent.wallet.in_(list(wallets(asked.tenant_id))),
            _is_over(now),
        )
    )


def totals(asked: Asked, cursor: Block | None, now: datetime) -> tuple[int, Sum]:
    """Return what was collected of orders in this token, and what `booked` yields together.

    Of stray accounts, only the latter. Without a `cursor`, nothing may be collected. No order is
    read.

    Example: 1,000 orders of 5 are over. 600 were collected, and one has a payment that is not
    final: 3,000 were collected, and 399 orders have 1,995.
    """
    of_order = _of_order(asked, now)
    left = of_order.c.received - of_order.c.collected
    is_left = (left > 0) & of_order.c.is_over
    if cursor is not None:
        is_left &= of_order.c.id.not_in(_pending(asked.chain_id, cursor))
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
    pending = Payment.select().where(
        accounts.STRAYS.rows(Payment), Payment.canonical, Payment.block_number > newest
    )
    held = StrayAccount.amount_received - _collected(accounts.STRAYS)
    query = _held_elsewhere(asked, now).where(StrayAccount.in_reach, ~fn.EXISTS(pending))
    rows: Any = query.select(fn.COUNT(SQL("*")), fn.SUM(held)).tuples()
    ((orders, amount),) = rows
    return Sum(int(orders), int(amount or 0))


def _pending(chain_id: int, cursor: Block) -> ModelSelect[Payment]:
    """Select the intents with a payment that is not final at the cursor: a few of a chain."""
    # By a join, Postgres may read all orders to find these few.
    needed = PaymentIntent.select(PaymentIntent.required_confirmations).where(
        PaymentIntent.id == Payment.intent
    )
    return Payment.select(Payment.intent).where(
        Payment.chain_id == chain_id,
        # The index finds these. An order may have more confirmations than its chain has now.
        Payment.block_number > cursor.number - MOST_CONFIRMATIONS,
        Payment.block_number + needed > cursor.number + 1,
        Payment.canonical,
        PAYMENT_AT_HOME,
    )


def others(asked: Asked, after: str) -> Iterator[Order]:
    """Yield the chain's orders in other tokens after the id `after`, oldest first.

    No book says what they hold of this token: those with a stray account in it are left out, see
    `booked`. Reads page by page.
    """
    in_others = PaymentIntent.token_address != asked.token_address
    # By the id: with the chain, the database might read all strays of it for each order.
    id_ = id_of("", asked.chain_id, asked.token_address)
    of_token = StrayAccount.select(StrayAccount.id).where(
        StrayAccount.id == PaymentIntent.id.concat(id_)
    )
    for page in _pages(asked, in_others & ~fn.EXISTS(of_token), after):
        yield from (_order(intent, 0) for intent in page)


def issued(asked: Asked) -> Iterator[Order]:
    """Yield all orders of the tenant on all chains, oldest first, with nothing held."""
    for page in _pages(asked, None):
        yield from (_order(intent, 0) for intent in page)


def _is_over(now: datetime) -> Any:
    """Select orders that are sold, or that ended long enough ago that no payment may count."""
    return (PaymentIntent.status == literal(IntentStatus.CONFIRMED)) | (
        PaymentIntent.status.in_(ENDED) & (PaymentIntent.ended_at <= now - WATCH_AFTER_END)
    )


def _collected(kind: Kind) -> Any:
    """Select what of an account was collected, in micro-units."""
    # Of one order it is a BIGINT. Postgres counts faster with that than with its Decimal.
    amount = fn.COALESCE(fn.SUM(Collection.amount), 0).cast("BIGINT")
    return Collection.select(amount).where(kind.rows(Collection), Collection.canonical)


def _order(account: Account, held: int) -> Order:
    order, address = account.order, account.terms.address
    return Order(order.id, str(order.wallet_id), order.address_index or 0, address, held)


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


def _newest_blocks(found: Sequence[Account]) -> dict[str, int]:
    """Return the block of each account's newest payment."""
    # The payments of an account are of its chain. With that in the statement, SQLite would read all
    # payments of the chain.
    columns = Payment.intent, Payment.stray
    newest = Payment.select(*columns, fn.MAX(Payment.block_number)).where(
        Payment.intent.in_([account.intent_id for account in found]), Payment.canonical
    )
    rows: Iterable[Any] = newest.group_by(*columns).tuples()
    return {stray or intent_id: block for intent_id, stray, block in rows}
