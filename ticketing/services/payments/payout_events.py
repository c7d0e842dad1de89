"""Store what the chain shows of listed payouts, and book it as refunds.

A payer's events are read from the time of its first list on, in blocks that are final. The events
of a range and the cursor are stored in one transaction, so a worker that was stopped goes on where
it was. Then each payment that waits is booked, as far as 9.3 of the rules says (payees.py): as a
refund of the order that its id names, up to what is due. What is not due yet is tried again.

An event changes nothing if its payer has no list with its id: strangers cannot pay for an order.
"""

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from peewee import Expression, fn

from ticketing import clock
from ticketing.chain import units
from ticketing.chain.answers import Block, Transfer
from ticketing.chain.refunded_events import PaidRefund, Refunded
from ticketing.chain.registry import Chain
from ticketing.constants import EPOCH
from ticketing.db.connection import write_transaction
from ticketing.errors import ChainUnavailable
from ticketing.models.payouts import SEEN, Payout, PayoutCursor, Unbooked
from ticketing.models.refunds import Refund
from ticketing.models.stray_accounts import Account, StrayAccount
from ticketing.services import chains
from ticketing.services.notifications import facts, feed
from ticketing.services.orders import accounts
from ticketing.services.payments import (
    block_history,
    chain_settlement,
    payments,
    payout_ids,
    refund_settlement,
    restored_payouts,
    settlement,
)
from ticketing.services.payments.booking import CursorMoved, Hashes

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


def can_be_paid(chain_id: int) -> Expression:
    """Return the condition that a payment was not seen, and is on a list that can be paid.

    A list has ended when a block that is final, up to which its events were read, is later.
    """
    read = cursor(chain_id)
    ended = EPOCH if read is None else read.time
    return Payout.tx_hash.is_null() & (Payout.valid_before >= ended)


def is_listed(account: Account) -> bool:
    """Return whether a locked account is on a list that can still be paid, or was paid just now.

    Of a payment that was seen, the debt is not reduced yet, or it may return to the chain.
    """
    terms = account.terms
    of_account = Payout.select().where(
        Payout.intent == account.intent_id,
        Payout.chain_id == terms.chain_id,
        Payout.token_address == terms.token_address,
    )
    is_payable = of_account.where(can_be_paid(terms.chain_id)).exists()
    return bool(is_payable or undecided([account]))


def payers(chain_id: int, time: datetime) -> list[str] | None:
    """Return the payers whose events must be read in blocks since `time`. None: of everybody.

    After a restored backup, that is so for a while: see restored_payouts.py.
    """
    if restored_payouts.is_restored(chain_id):
        return None
    return payout_ids.listed_payers(chain_id, time)


def begin(chain_id: int, block: Block) -> None:
    """Read events from `block` on, because there will be a list. Call it with the chain locked.

    While another payer's events are read, nothing changes: the new one's are read with them.
    """
    read = cursor(chain_id)
    if read is None or payers(chain_id, read.time) == []:
        _move_cursor(chain_id, block)


@dataclass(frozen=True)
class Known:
    """An event with an id of this service. `token_address`: the one that was listed.

    `unlisted`: a backup was restored, so the list is not known here, but this account of the id.
    """

    event: Refunded
    token_address: str
    unlisted: Account | None = None

    @property
    def is_token(self) -> bool:
        """Whether the event has the token that was listed. Others may say anything."""
        return self.event.token_address.lower() == self.token_address.lower()


def known(chain_id: int, events: Collection[Refunded]) -> list[Known]:
    """Return those events whose payer had a list with their id on this service.

    After a restored backup, those too whose id is one of an order.
    """
    tokens: dict[tuple[str, str], str] = {}
    keys = [(each.payer, each.id) for each in events]
    for start in range(0, len(keys), 500):
        some = keys[start : start + 500]
        listed = Payout.select(Payout.payer, Payout.payment_id, Payout.token_address).where(
            Payout.payer.in_({payer for payer, _ in some}),
            Payout.payment_id.in_([id_ for _, id_ in some]),
        )
        rows: Iterable[Any] = listed.tuples()
        tokens |= {(payer, id_): token for payer, id_, token in rows}
    found = [
        Known(each, tokens[each.payer, each.id])
        for each in events
        if (each.payer, each.id) in tokens
    ]
    if restored_payouts.is_restored(chain_id):
        others = [each for each in events if (each.payer, each.id) not in tokens]
        of_id = restored_payouts.accounts_of(chain_id, {each.id for each in others})
        found += [
            Known(each, of_id[each.id].terms.token_address, of_id[each.id])
            for each in others
            if each.id in of_id
        ]
    return found


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


def store(
    chain: Chain,
    at: Block,
    read: Block,
    last: Block,
    paid: Sequence[PaidRefund],
    unlisted: Mapping[str, Account],
) -> None:
    """Store events in blocks up to `last`, and move the cursor of events there from `read`.

    `at` is the worker's cursor. `unlisted`: see Known, by id. CursorMoved if the worker has gone
    back before that block, or if another worker has moved the cursor of events.
    """
    with write_transaction():
        _lock(chain, at, read)
        restored_payouts.add_lists(paid, unlisted)
        payout_ids.note_seen(chain.chain_id, paid)
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


def book_waiting(chain_id: int) -> None:
    """Book the payments of a chain that wait, and whose orders are due something now.

    At most BOOKED_PER_PASS, each in a transaction of its own.
    """
    if not Payout.select().where(Payout.chain_id == chain_id, Payout.waits).exists():
        return
    _note_booked(chain_id)
    for row, account in _waiting(chain_id):
        # Noted first: an order that cannot be settled must not be tried at each look.
        Payout.update(tried_at=clock.now()).where(_is(row)).execute()
        chain_settlement.reduce_due_of_each([account], partial(_book, row))


def _waiting(chain_id: int) -> Sequence[tuple[Payout, Account]]:
    """Return payments that wait, with their accounts as they are now.

    Since the list was written, a home may have become a stray account, or a stray account the home.
    """
    is_time = Payout.tried_at.is_null() | (Payout.tried_at < clock.now() - AGAIN)
    found: list[tuple[Payout, Account]] = []
    for kind in accounts.KINDS:
        # Money that is not assigned yet can be paid back, too.
        is_due = kind.to_refund
        if kind is accounts.STRAYS:
            is_due |= StrayAccount.unassigned > 0
        waits = Payout.select().where(Payout.chain_id == chain_id, Payout.waits, is_time)
        query = waits.join(kind.model, on=kind.payouts).where(is_due)
        rows = list(query.order_by(Payout.payment_id).limit(BOOKED_PER_PASS))
        of_place = _of_places(rows)
        found += [(row, of_place[_place(row)]) for row in rows if _place(row) in of_place]
    return found[:BOOKED_PER_PASS]


def _place(row: Payout) -> tuple[Any, ...]:
    return row.intent_id, row.chain_id, row.token_address


def _of_places(rows: Sequence[Payout]) -> dict[tuple[Any, ...], Account]:
    """Return the accounts that some payments belong to, by their place."""
    intents = payments.intents_of({row.intent_id for row in rows})
    strays = accounts.of_intents(intents)
    every: list[Account] = [*intents, *(each for some in strays.values() for each in some)]
    return {payout_ids.place_of(account): account for account in every}


def undecided(accounts: Sequence[Account]) -> dict[str, str]:
    """Return the accounts with a payment that was seen and is not settled, and its transaction.

    Such an order must be on no list: its next payment would have another id, and pay it again. The
    payment is not booked yet, or it was taken back by a reorganization and may return.

    Example: a list of 150 orders was paid, and the worker has booked 100. The other 50 are here.
    """
    refund = fn.EXISTS(Refund.select(Refund.id).where(_of_payment(), Refund.canonical))
    is_taken_back = Payout.unbooked.is_null() & ~refund
    of_place = {payout_ids.place_of(account): account for account in accounts}
    intent_ids = list({account.intent_id for account in accounts})
    rows = Payout.select().where(Payout.intent.in_(intent_ids), SEEN, Payout.waits | is_taken_back)
    found = {}
    for row in rows:
        account = of_place.get((row.intent_id, row.chain_id, row.token_address))
        if account is not None and (not row.waits or _may_count(account, row)):
            found[account.id] = str(row.tx_hash)
    return found


def _may_count(account: Account, row: Payout) -> bool:
    try:
        return refund_settlement.would_count(account, _transfer(row)) > 0
    except ChainUnavailable:
        return True  # it is recorded in another block


def _note_booked(chain_id: int) -> None:
    """Note which payments are booked because somebody named the transaction."""
    refund = Refund.select(Refund.id).where(_of_payment(), Refund.canonical)
    rows = list(
        Payout.select().where(
            Payout.chain_id == chain_id,
            Payout.waits,
            Payout.unbooked != str(Unbooked.SURPLUS),
            fn.EXISTS(refund),
        )
    )
    of_place = _of_places(rows)
    for row in rows:
        if _place(row) in of_place:
            _note_counted(row, of_place[_place(row)])


def _note_counted(row: Payout, account: Account) -> None:
    """Note that a payment counts. A surplus waits: more may be due later."""
    booked = Refund.select(fn.SUM(Refund.amount)).where(
        Refund.intent == row.intent_id,
        Refund.chain_id == row.chain_id,
        Refund.tx_hash == row.tx_hash,
        Refund.log_index == row.transfer_log,
        Refund.canonical,
    )
    value = units.from_atomic(int(row.paid_amount or 0), account.terms.decimals)[0]
    has_surplus = int(booked.scalar() or 0) < value
    reason = str(Unbooked.SURPLUS) if has_surplus else None
    Payout.update(waits=has_surplus, unbooked=reason).where(_is(row)).execute()


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


def _book(row: Payout, account: Account, as_of: Block) -> dict[str, int]:
    """Count a payment as a refund of its locked account. Return its new `refunded`, or nothing.

    The chain is locked, so the event stays where it is. Its Transfer counts for no other order: see
    payout_ids.transfers_for.
    """
    same = Payout.select().where(_is(row), Payout.waits, Payout.block_hash == row.block_hash)
    if not same.exists() or int(row.block_number or 0) > account.terms.final_up_to(as_of.number):
        return {}
    if not account.returnable_now:
        return {}
    transfer = _transfer(row)
    settlement.lock_tenant(account.tenant_id)
    try:
        counted = refund_settlement.count(account, [transfer], None, may_grow=True)
    except ChainUnavailable:
        # It is recorded in a block that was replaced, which the worker has not taken back yet.
        return {}
    if not counted:
        _note_unbooked(row, account)
        return {}
    _note_counted(row, account)
    fact = facts.refund_settled(account, counted, transfer.tx_hash, automatic=True)
    feed.record(account.tenant_id, *fact)
    return {"refunded": account.refunded + counted}


def _transfer(row: Payout) -> Transfer:
    return Transfer(
        tx_hash=str(row.tx_hash),
        log_index=int(row.transfer_log or 0),
        block=Block(int(row.block_number or 0), str(row.block_hash), row.block_time),
        sender=str(row.payer),
        recipient=str(row.paid_to),
        atomic_amount=int(row.paid_amount or 0),
    )


def _note_unbooked(row: Payout, account: Account) -> None:
    """Note why a payment does not count now. The buyer may still state its address."""
    if row.unbooked == Unbooked.SURPLUS:
        return
    may_receive = refund_settlement.may_receive(account, _transfer(row))
    reason = Unbooked.NOTHING_DUE if may_receive else Unbooked.OTHER_PAYEE
    if row.unbooked != reason:
        Payout.update(unbooked=reason).where(_is(row)).execute()
        log.warning("order %s: a listed refund does not count: %s", account.intent_id, reason)
