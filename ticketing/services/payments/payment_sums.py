"""The sums of an order's payments, computed by the database: balances.py draws the conclusions.

Anyone can send an order thousands of tiny payments, so their rows are not loaded.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any

from peewee import Case, Tuple, Window, fn

from ticketing.chain import units
from ticketing.chain.answers import Block
from ticketing.constants import MICRO_UNIT_DECIMALS, Flag
from ticketing.models.base import UtcDateTimeField
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.payments import Payment
from ticketing.models.prepared import Prepared
from ticketing.models.refunds import Waiver
from ticketing.services.payments import balances
from ticketing.services.payments.balances import Balance, Position, Step, Totals
from ticketing.services.payments.payees import Received
from ticketing.services.payments.payments import undecided_of

_ORDER = (Payment.block_number, Payment.log_index, Payment.id)
_times = UtcDateTimeField()


@Prepared
def _groups(account_id: Any, final_up_to: Any) -> Any:
    is_final = Payment.block_number <= final_up_to
    return (
        Payment.select(
            Payment.canonical,
            Payment.honoured,
            fn.SUM(Payment.amount),
            fn.SUM(Payment.dust),
            fn.SUM(Case(None, [(is_final, Payment.amount)], 0)),
            fn.SUM(Case(None, [(is_final, Payment.dust)], 0)),
            fn.MIN(Case(None, [(~is_final, Payment.block_number)])),
            fn.MAX(Payment.block_time),
        )
        .where(Payment.account == account_id)
        .group_by(Payment.canonical, Payment.honoured)
    )


@Prepared
def _first(account_id: Any) -> Any:
    columns = (Payment.block_number, Payment.block_time, Payment.amount)
    # As of `_steps`. The sums up to the first payment are its own amount and dust.
    first = Payment.select(*columns, Payment.amount, Payment.dust).order_by(*_ORDER).limit(1)
    return first.where(Payment.account == account_id, Payment.canonical)


@Prepared
def _steps(account_id: Any, least: Any, price: Any, goal: Any, scale: Any) -> Any:
    in_order = Window(order_by=_ORDER, start=Window.preceding(), end=Window.CURRENT_ROW)
    payments = (
        Payment.select(
            Payment.block_number,
            Payment.block_time,
            Payment.amount,
            Payment.dust,
            # In Postgres a sum is numeric, and its division would not be one of integers.
            fn.SUM(Payment.amount).over(in_order).cast("BIGINT").alias("sum_amount"),
            fn.SUM(Payment.dust).over(in_order).cast("BIGINT").alias("sum_dust"),
            fn.ROW_NUMBER().over(in_order).alias("place"),
        )
        .where(Payment.account == account_id, Payment.canonical)
        .window(in_order)
    )
    row = payments.c
    after = row.sum_amount + row.sum_dust / scale
    before = row.sum_amount - row.amount + (row.sum_dust - row.dust) / scale
    crossed = [(before < sum_) & (after >= sum_) for sum_ in (least, price, goal)]
    reaches = reduce(or_, crossed)
    columns = (row.block_number, row.block_time, row.amount, row.sum_amount, row.sum_dust)
    return payments.select_from(*columns).where((row.place == 1) | reaches).order_by(row.place)


@Prepared
def _before(account_id: Any, block: Any, log_index: Any) -> Any:
    is_before = (Payment.block_number < block) | (
        (Payment.block_number == block) & (Payment.log_index < log_index)
    )
    return Payment.select(fn.SUM(Payment.amount), fn.SUM(Payment.dust)).where(
        Payment.account == account_id, Payment.canonical, is_before
    )


@Prepared
def _paid(account_id: Any) -> Any:
    columns = (Payment.block_number, Payment.log_index, Payment.sender)
    paid = Payment.select(*columns, Payment.amount, Payment.dust)
    return paid.where(Payment.account == account_id, Payment.canonical).order_by(*_ORDER)


def balance(intent: PaymentIntent, as_of: Block, totals: Totals, waived: int) -> Balance:
    """Return the balance of an order. `waived`: what is written off, in micro-units."""
    steps = _steps_of(intent, totals, balances.goal(intent, waived)) if totals.latest else ()
    return balances.add_up(intent, totals, steps, as_of, waived)


def totals_of(account: OrderAccount, as_of: Block) -> Totals:
    """Return what the payments of an account add up to, as of a block of its chain."""
    terms = account.terms
    received = final = decided = 0
    blocks: list[int] = []
    times: list[datetime] = []
    states: set[bool | None] = set()
    has_removed = False
    groups = _groups.tuples(account_id=account.id, final_up_to=terms.final_up_to(as_of.number))
    for canonical, honoured, amount, dust, final_amount, final_dust, open_block, latest in groups:
        if not canonical:
            has_removed = True
            continue
        state = None if honoured is None else bool(honoured)
        states.add(state)
        all_of_it = _atomic(amount, dust, terms.decimals)
        received += all_of_it
        decided += 0 if state is None else all_of_it
        final += _atomic(final_amount, final_dust, terms.decimals)
        blocks += [] if open_block is None else [open_block]
        times.append(_time(latest))
    return Totals(
        received=received,
        final=final,
        decided=decided,
        open_block=min(blocks, default=None),
        latest=max(times, default=None),
        is_honoured=True in states,
        has_undecided=None in states,
        has_removed=has_removed,
    )


def covering(account: OrderAccount, totals: Totals, waived: int) -> Payment | None:
    """Return the first undecided transfer to an account that covers an ended order's full amount.

    None if the account owes an earlier refund, which stays due. None also if the order is unpaid
    even with that transfer, because more was refunded than received.

    Example: an order of 10 received 4, expired, and owes them. A late transfer of 10 does not cover
    it: 14 are owed. If the 4 were refunded first, the 10 cover it. Late transfers of 6 and 4 never
    do.
    """
    if not balances.may_be_covered(account, totals, waived):
        return None
    is_enough = Payment.amount >= account.order.amount
    transfer: Payment | None = (
        Payment.select().where(undecided_of(account), is_enough).order_by(*_ORDER).first()
    )
    if transfer is None:
        return None
    # What is owed only grows from transfer to transfer. So if this one does not cover the order, a
    # later one does not either.
    place = Tuple(transfer.block_number, transfer.log_index, transfer.id)
    sums = Payment.select(fn.SUM(Payment.amount), fn.SUM(Payment.dust))
    rows: Any = sums.where(undecided_of(account), Tuple(*_ORDER) < place).tuples()
    decimals = account.terms.decimals
    ((amount, dust),) = rows
    owed = totals.decided + _atomic(amount, dust, decimals)
    owes = units.from_atomic(owed, decimals)[0] > account.refunded + waived
    return None if owes else transfer


def received_before(account: OrderAccount, position: Position) -> int:
    """Return the sum of the canonical payments that lie before a place on the chain."""
    block, log_index = position
    rows = _before.tuples(account_id=account.id, block=block, log_index=log_index)
    decimals = account.terms.decimals
    ((amount, dust),) = rows
    return units.from_atomic(_atomic(amount, dust, decimals), decimals)[0]


def received_by_payer(account: OrderAccount) -> tuple[Received, Mapping[str, Received]]:
    """Return what an account received, in all and of each payer.

    This reads every canonical payment, but few columns. Only an organizer who settles a refund
    causes it.
    """
    decimals = account.terms.decimals
    every: list[tuple[Position, int]] = []
    of_payer: dict[str, list[tuple[Position, int]]] = defaultdict(list)
    for block, log_index, sender, amount, dust in _paid.tuples(account_id=account.id):
        paid = ((block, log_index), _atomic(amount, dust, decimals))
        every.append(paid)
        of_payer[sender].append(paid)
    sent = {sender: Received(paid, decimals) for sender, paid in of_payer.items()}
    return Received(every, decimals), sent


def received_up_to(account: OrderAccount, block: int) -> int:
    """Return the sum of the canonical payments in blocks up to `block`."""
    return received_before(account, (block + 1, 0))


def waivers_of(account: OrderAccount) -> Sequence[Waiver]:
    """Return the waivers of an account. A removal of payments sets a flag, and may end them."""
    may_end = not account.is_home or Flag.REORGED in account.order.flags
    if not account.waived and not may_end:
        return []
    return list(Waiver.select().where(Waiver.account == account.id).order_by(Waiver.id))


def waived(account: OrderAccount) -> int:
    """Return what the waivers of an account write off now, in micro-units."""
    return sum(in_effect(account, waiver) for waiver in waivers_of(account))


def in_effect(account: OrderAccount, waiver: Waiver) -> int:
    """Return the part of a waiver whose payments are still on the chain, in micro-units."""
    return balances.in_effect(waiver, received_up_to(account, waiver.block_number))


def _steps_of(intent: PaymentIntent, totals: Totals, goal: int) -> Sequence[Step]:
    """Return the first payment, and those that reach what is enough, the price, and `goal`."""
    home, least = intent.home, intent.amount - intent.tolerance
    decimals = home.token_decimals
    if units.from_atomic(totals.received, decimals)[0] < min(least, goal):
        rows = _first.tuples(account_id=home.id)
    else:
        scale = units.to_atomic(1, max(decimals, MICRO_UNIT_DECIMALS))
        rows = _steps.tuples(
            account_id=home.id, least=least, price=intent.amount, goal=goal, scale=scale
        )
    return [
        Step(block, _time(at), amount, _atomic(sum_amount, sum_dust, decimals))
        for block, at, amount, sum_amount, sum_dust in rows
    ]


def _atomic(amount: Any, dust: Any, decimals: int) -> int:
    """Return two sums of the database in atomic units. The sum of no rows is None."""
    # Postgres returns a sum as a Decimal.
    return units.to_atomic(int(amount or 0), decimals) + int(dust or 0)


def _time(column: Any) -> datetime:
    """Return the time of a block as SQLite (text) or Postgres has it."""
    found = _times.python_value(column)
    assert found is not None
    return found
