"""Store what the chain shows of listed payouts, and book it as refunds.

A payer's events are read from the time of its first list on, in blocks that are final. The events
of a range and the cursor are stored in one transaction, so a worker that was stopped goes on where
it was. Then each payment that waits is booked, as far as 9.3 of the rules says (payees.py): as a
refund of the order that its id names, up to what is due. What is not due yet is tried again.

An event changes nothing if its payer has no list with its id: strangers cannot pay for an order.
"""

import logging
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from peewee import Case, Expression, fn

from ticketing import clock
from ticketing.chain.answers import Block, Transfer
from ticketing.chain.refunded_events import PaidRefund, Refunded
from ticketing.chain.registry import Chain
from ticketing.db.connection import write_transaction
from ticketing.errors import ChainUnavailable
from ticketing.models.payment_intents import TO_REFUND, PaymentIntent
from ticketing.models.payouts import SEEN, Payout, PayoutCursor, Unbooked
from ticketing.models.refunds import Refund
from ticketing.services import chains
from ticketing.services.notifications import facts, feed
from ticketing.services.payments import (
    block_history,
    refund_settlement,
    restored_payouts,
    settlement,
)
from ticketing.services.payments.booking import CursorMoved, Hashes

READ_AFTER_END = timedelta(hours=72)
"""For how long a payer's events are read after the end of its last list."""

AGAIN = timedelta(minutes=1)
"""How often a payment that waits is tried while something is due."""

BOOKED_PER_PASS = 100

_NONE_SEEN = {
    Payout.tx_hash: None,
    Payout.log_index: None,
    Payout.transfer_log: None,
    Payout.block_number: None,
    Payout.block_hash: None,
    Payout.block_time: None,
    Payout.paid_to: None,
    Payout.paid_amount: None,
    Payout.waits: False,
    Payout.unbooked: None,
    Payout.tried_at: None,
}

log = logging.getLogger(__name__)


def cursor(chain_id: int) -> Block | None:
    """Return the last block up to which events were read. None before the first list."""
    row: PayoutCursor | None = PayoutCursor.get_or_none(PayoutCursor.chain_id == chain_id)
    return None if row is None else Block(row.block_number, row.block_hash, row.block_time)


def payers(chain_id: int, time: datetime) -> list[str]:
    """Return the payers whose events must be read in blocks since `time`.

    After a restored backup, owners of wallets too: see restored_payouts.py.
    """
    valid = Payout.select(Payout.payer).where(
        Payout.chain_id == chain_id, Payout.valid_before > time - READ_AFTER_END
    )
    rows: Iterable[Any] = valid.distinct().tuples()
    return sorted({payer for (payer,) in rows} | {*restored_payouts.owners(chain_id)})


def begin(chain_id: int, block: Block) -> None:
    """Read events from `block` on, because there will be a list. Call it with the chain locked.

    While another payer's events are read, nothing changes: the new one's are read with them.
    """
    read = cursor(chain_id)
    if read is None or not payers(chain_id, read.time):
        _move_cursor(chain_id, block)


def known(chain_id: int, events: Collection[Refunded]) -> list[Refunded]:
    """Return those events whose payer had a list with their id on this service.

    After a restored backup, it may not know the list, but its order.
    """
    keys = [(each.payer, each.id) for each in events]
    found: set[tuple[str, str]] = set()
    for start in range(0, len(keys), 500):
        some = keys[start : start + 500]
        listed = Payout.select(Payout.payer, Payout.payment_id).where(
            Payout.payer.in_({payer for payer, _ in some}),
            Payout.payment_id.in_([id_ for _, id_ in some]),
        )
        rows: Iterable[Any] = listed.tuples()
        found |= set(rows)
    if restored_payouts.is_restored(chain_id):
        others = [each for each in events if (each.payer, each.id) not in found]
        found |= restored_payouts.intents_of(chain_id, others).keys()
    return [each for each in events if (each.payer, each.id) in found]


def seen_blocks(chain_id: int, after: int) -> list[int]:
    """Return the blocks after block `after` with an event that was seen."""
    seen = Payout.select(Payout.block_number).where(
        SEEN, Payout.chain_id == chain_id, Payout.block_number > after
    )
    rows: Iterable[Any] = seen.distinct().order_by(Payout.block_number).tuples()
    return [number for (number,) in rows]


def go_back(chain: Chain, at: Block, read: Block, to: Block, hashes: Hashes) -> None:
    """After a reorganization, read again from block `to`. Forget events in replaced blocks.

    `at` is the worker's cursor, `read` the cursor of events. `hashes` are the current ones of the
    blocks with events after `to`. CursorMoved.
    """
    with write_transaction():
        _lock(chain, at, read)
        for number, block_hash in hashes.items():
            replaced = (Payout.block_number == number) & (Payout.block_hash != block_hash)
            of_chain = SEEN & (Payout.chain_id == chain.chain_id)
            Payout.update(_NONE_SEEN).where(of_chain, replaced).execute()
        _move_cursor(chain.chain_id, to)


def store(chain: Chain, at: Block, read: Block, last: Block, paid: Sequence[PaidRefund]) -> None:
    """Store events in blocks up to `last`, and move the cursor of events there from `read`.

    `at` is the worker's cursor. CursorMoved if the worker has gone back before that block, or if
    another worker has moved the cursor of events.
    """
    with write_transaction():
        _lock(chain, at, read)
        if restored_payouts.is_restored(chain.chain_id):
            restored_payouts.add_lists(chain.chain_id, paid)
        for each in paid:
            _store(chain.chain_id, each)
        if last.number > read.number:
            _move_cursor(chain.chain_id, last)


def _lock(chain: Chain, at: Block, read: Block) -> None:
    now = chains.cursor_of(settlement.lock_chain(chain.chain_id))
    is_linked = now is not None and (now == at or block_history.has(chain.chain_id, at))
    if not is_linked or cursor(chain.chain_id) != read:
        raise CursorMoved(f"chain {chain.chain_id}: the events of payers are being read elsewhere")


def _move_cursor(chain_id: int, block: Block) -> None:
    columns = {"block_number": block.number, "block_hash": block.hash, "block_time": block.time}
    (
        PayoutCursor.insert(chain_id=chain_id, **columns)
        .on_conflict(conflict_target=[PayoutCursor.chain_id], update=columns)
        .execute()
    )


def _store(chain_id: int, paid: PaidRefund) -> None:
    """Store one event, unless it is stored already."""
    event, transfer = paid.event, paid.transfer
    is_token = fn.LOWER(Payout.token_address) == event.token_address.lower()
    reason = Unbooked.NO_TRANSFER if transfer is None else Unbooked.NOTHING_DUE
    columns = {
        Payout.tx_hash: event.tx_hash,
        Payout.log_index: event.log_index,
        Payout.transfer_log: None if transfer is None else transfer.log_index,
        Payout.block_number: paid.block.number,
        Payout.block_hash: paid.block.hash,
        Payout.block_time: paid.block.time,
        Payout.paid_to: event.to,
        Payout.paid_amount: str(event.atomic_amount),
        Payout.waits: Case(None, [(is_token, transfer is not None)], False),
        Payout.unbooked: Case(None, [(is_token, str(reason))], str(Unbooked.OTHER_TOKEN)),
        Payout.tried_at: None,
    }
    is_new = Payout.tx_hash.is_null() | (Payout.block_hash != paid.block.hash)
    Payout.update(columns).where(
        Payout.payer == event.payer,
        Payout.payment_id == event.id,
        Payout.chain_id == chain_id,
        is_new,
    ).execute()


def book_waiting(chain_id: int) -> None:
    """Book the payments of a chain that wait, and whose orders are due something now.

    At most BOOKED_PER_PASS, each in a transaction of its own.
    """
    if not Payout.select().where(Payout.chain_id == chain_id, Payout.waits).exists():
        return
    _note_booked(chain_id)
    for row in _waiting(chain_id):
        # Noted first: an order that cannot be settled must not be tried at each look.
        Payout.update(tried_at=clock.now()).where(_is(row)).execute()
        settlement.reduce_due_of_each([row.intent], partial(_book, row))


def _waiting(chain_id: int) -> Sequence[Payout]:
    is_time = Payout.tried_at.is_null() | (Payout.tried_at < clock.now() - AGAIN)
    query = (
        Payout.select(Payout, PaymentIntent)
        .join(PaymentIntent)
        .where(Payout.chain_id == chain_id, Payout.waits, is_time, TO_REFUND)
    )
    return list(query.order_by(Payout.payment_id).limit(BOOKED_PER_PASS))


def _note_booked(chain_id: int) -> None:
    """Note which payments are booked: by the worker, or because somebody named the transaction."""
    refund = Refund.select(Refund.id).where(_of_payment(), Refund.canonical)
    (
        Payout.update(waits=False, unbooked=None)
        .where(Payout.chain_id == chain_id, Payout.waits, fn.EXISTS(refund))
        .execute()
    )


def _of_payment() -> Expression:
    """Return the condition that a refund is the one of a payment."""
    return (
        (Refund.intent == Payout.intent)
        & (Refund.chain_id == Payout.chain_id)
        & (Refund.tx_hash == Payout.tx_hash)
        & (Refund.log_index == Payout.transfer_log)
        & (Refund.block_hash == Payout.block_hash)
    )


def _is(row: Payout) -> Expression:
    return (Payout.payer == row.payer) & (Payout.payment_id == row.payment_id)


def _book(row: Payout, intent: PaymentIntent, as_of: Block) -> dict[str, int]:
    """Count a payment as a refund of its locked order. Return its new `refunded`, or nothing.

    The chain is locked, so the event stays where it is. Its Transfer counts for no other order: see
    payout_ids.transfers_for.
    """
    same = Payout.select().where(_is(row), Payout.waits, Payout.block_hash == row.block_hash)
    if not same.exists() or int(row.block_number or 0) > intent.terms.final_up_to(as_of.number):
        return {}
    if not intent.refund_due_now:
        return {}
    transfer = _transfer(row)
    settlement.lock_tenant(intent.tenant_id)
    try:
        counted = refund_settlement.count(intent, [transfer], None)
    except ChainUnavailable:
        # It is recorded in a block that was replaced, which the worker has not taken back yet.
        return {}
    if not counted:
        _note_unbooked(row, intent)
        return {}
    Payout.update(waits=False, unbooked=None).where(_is(row)).execute()
    fact = facts.refund_settled(intent, counted, transfer.tx_hash, automatic=True)
    feed.record(intent.tenant_id, *fact)
    return {"refunded": intent.refunded + counted}


def _transfer(row: Payout) -> Transfer:
    return Transfer(
        tx_hash=str(row.tx_hash),
        log_index=int(row.transfer_log or 0),
        block=Block(int(row.block_number or 0), str(row.block_hash), row.block_time),
        sender=str(row.payer),
        recipient=str(row.paid_to),
        atomic_amount=int(row.paid_amount or 0),
    )


def _note_unbooked(row: Payout, intent: PaymentIntent) -> None:
    """Note why a payment does not count now. The buyer may still state its address."""
    may_receive = refund_settlement.may_receive(intent, _transfer(row))
    reason = Unbooked.NOTHING_DUE if may_receive else Unbooked.OTHER_PAYEE
    if row.unbooked != reason:
        Payout.update(unbooked=reason).where(_is(row)).execute()
        log.warning("order %s: a listed refund does not count: %s", intent.id, reason)
