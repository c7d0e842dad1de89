"""Which payments two nodes have seen: money goes out only for these.

One node's word lets money in: it can invent a payment, and the organizer gives a ticket away. It
must not let money out. So the worker asks each URL of a chain for the receipt of every final
payment, and `Payment.witnessed` keeps whether two of them have it with the same content.

An account is witnessed if its witnessed payments, the largest first and at most MOST_PAYMENTS,
cover what was and will be paid back of it.

Example: an order received 12 and 3, and owes 5. If the payment of 12 is witnessed, so is the order.
If only that of 3 is, the payment of 12 must be looked at.

What remains: a buyer pays 12 for a ticket of 12, and a node invents 5 more. Then 5 is paid back. A
node can get a ticket for less than its price, as it can by inventing the payment for it, but never
more than what the order really received.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from peewee import Case, fn

from ticketing.chain import units
from ticketing.chain.answers import Block, Transfer
from ticketing.models.base import UtcDateTimeField
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payments import Payment

_times: Any = UtcDateTimeField()

MOST_PAYMENTS = 20
"""How many payments of an account are looked at. Anybody can send it thousands of tiny ones."""


@dataclass(frozen=True)
class SeenPayment:
    """A payment to look at: a token's Transfer to `address`, and its place on the chain."""

    tx_hash: str
    log_index: int
    block_number: int
    block_hash: str
    block_time: datetime
    address: str
    atomic_amount: int
    is_witnessed: bool


@dataclass(frozen=True)
class ToWitness:
    """A payment that nodes are asked about: its id, its token, and what its receipt must show."""

    id: str
    token_address: str
    transfer: Transfer


def unwitnessed(accounts: Sequence[OrderAccount]) -> dict[int, list[SeenPayment]]:
    """Return the accounts whose witnessed payments do not cover their refunds, by id.

    Each has the payments to look at, the largest first. If these are right, it is covered. The list
    is empty if MOST_PAYMENTS payments cannot cover it.
    """
    found: dict[int, list[SeenPayment]] = {}
    paid = _largest(accounts)
    for account in accounts:
        of_account = paid.get(account.id, [])
        terms = account.terms
        needed = units.to_atomic(account.refunded + account.due_now, terms.decimals)
        chosen: list[SeenPayment] = []
        for each in sorted(of_account, key=lambda each: not each.is_witnessed)[:MOST_PAYMENTS]:
            if needed > 0:
                chosen.append(each)
                needed -= each.atomic_amount
        if needed > 0:
            found[account.id] = []
        elif not all(each.is_witnessed for each in chosen):
            found[account.id] = [each for each in chosen if not each.is_witnessed]
    return found


def _largest(accounts: Sequence[OrderAccount]) -> Mapping[int, Sequence[SeenPayment]]:
    """Return the largest payments of each account: of the witnessed ones, and of the others."""
    is_witnessed = Case(None, [(Payment.witnessed, 1)], 0)
    place = fn.ROW_NUMBER().over(
        partition_by=[Payment.account, is_witnessed],
        order_by=[Payment.amount.desc(), Payment.id],
    )
    columns = (
        Payment.account,
        Payment.tx_hash,
        Payment.log_index,
        Payment.block_number,
        Payment.block_hash,
        Payment.block_time,
        Payment.amount,
        Payment.dust,
        Payment.witnessed,
    )
    ranked = Payment.select(*columns, place.alias("place")).where(
        Payment.account.in_([account.id for account in accounts]), Payment.canonical
    )
    of = ranked.c
    shown = ranked.select_from(*(of[each.column_name] for each in columns))
    rows: Iterable[Any] = (
        shown.where(of.place <= MOST_PAYMENTS).order_by(of.amount.desc(), of.tx_hash).tuples()
    )
    by_id = {account.id: account for account in accounts}
    found: dict[int, list[SeenPayment]] = defaultdict(list)
    for account_id, tx_hash, log_index, number, hash_, time, amount, dust, seen in rows:
        terms = by_id[account_id].terms
        found[account_id].append(
            SeenPayment(
                tx_hash,
                log_index,
                number,
                hash_,
                _times.python_value(time),
                terms.address,
                units.to_atomic(int(amount), terms.decimals) + int(dust),
                bool(seen),
            )
        )
    return found


def to_ask(chain_id: int, final_up_to: int, most: int) -> list[ToWitness]:
    """Return final payments of a chain that nodes were not asked about, the newest first."""
    rows: Iterable[Any] = (
        Payment.select(
            Payment,
            OrderAccount.address,
            OrderAccount.token_address.alias("token"),
            OrderAccount.token_decimals.alias("decimals"),
        )
        .join(OrderAccount)
        .where(
            Payment.chain_id == chain_id,
            Payment.canonical,
            Payment.witnessed.is_null(),
            Payment.block_number <= final_up_to,
        )
        .order_by(Payment.block_number.desc())
        .limit(most)
        .dicts()
    )
    return [
        ToWitness(
            row["id"],
            row["token"],
            Transfer(
                tx_hash=row["tx_hash"],
                log_index=row["log_index"],
                block=Block(row["block_number"], row["block_hash"], row["block_time"]),
                sender=row["sender"],
                recipient=row["address"],
                atomic_amount=units.to_atomic(row["amount"], row["decimals"]) + row["dust"],
            ),
        )
        for row in rows
    ]


def note(payments: Iterable[ToWitness], *, witnessed: bool) -> None:
    """Store whether two nodes agree about payments that are still in the same blocks."""
    for each in payments:
        same = (Payment.id == each.id) & (Payment.block_hash == each.transfer.block.hash)
        Payment.update(witnessed=witnessed).where(same, Payment.canonical).execute()
