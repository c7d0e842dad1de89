"""Record what was read from a chain, and settle the orders concerned.

Each function is one transaction. Reads only add payments. Payments are removed only if their block
was replaced (payments.take_out_replaced). A hold is dropped only after the address was asked for
its balance: by book_view, and by chain_settlement.settle_again. Locks: see settlement.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from ticketing import clock
from ticketing.chain.answers import Block, Transfer
from ticketing.chain.registry import Chain
from ticketing.constants import IntentStatus
from ticketing.db.connection import write_transaction
from ticketing.errors import ChainUnavailable
from ticketing.models.chains import ChainState
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.refunds import Refund
from ticketing.services import chains, counters
from ticketing.services.orders import seats
from ticketing.services.payments import (
    block_history,
    collections,
    payments,
    stray_looks,
    watched_orders,
)
from ticketing.services.payments.chain_settlement import settle_on, settle_or_set_aside
from ticketing.services.payments.chain_view import ChainView, is_outdated
from ticketing.services.payments.settlement import lock, lock_chain, lock_rows

Hashes = Mapping[int, str]
"""The current hashes of blocks on the chain, by number."""


class CursorMoved(Exception):
    """Another process recorded something in the meantime. Read again from the cursor."""


def start_reading(chain: Chain, cursor: Block) -> None:
    """Set the first cursor of a chain, if it has none."""
    with write_transaction():
        state = lock_chain(chain.chain_id)
        if chains.cursor_of(state) is None:
            _move_cursor(chain.chain_id, cursor)


def book_range(
    chain: Chain, after: Block, last: Block, transfers: Sequence[Transfer], hashes: Hashes
) -> None:
    """Record transfers in blocks up to `last`, and move the cursor there from `after`.

    `hashes` are those of the blocks after `after` with recorded payments. CursorMoved if the cursor
    is not at `after`, or if a payment was recorded in the meantime in a block that is not in
    `hashes`.

    Example: the cursor is at block 100, and the worker has read the blocks 101 to 110. Meanwhile a
    purchase recorded a payment in block 108. The worker has no hash of that block to check the
    payment with, so it reads from 101 again.
    """
    with write_transaction():
        _lock_at(chain, after)
        current_hashes = {**hashes, **{each.block.number: each.block.hash for each in transfers}}
        _lock_concerned(chain, transfers, current_hashes)
        touched = payments.record(chain.chain_id, chain.token_address, transfers)
        collections.record(chain.chain_id, chain.token_address, transfers)
        booked = payments.blocks_after(chain.chain_id, after.number)
        if any(number <= last.number and number not in current_hashes for number in booked):
            raise CursorMoved(f"chain {chain.chain_id}: a purchase has recorded a payment")
        lost = payments.take_out_replaced(chain.chain_id, current_hashes)
        for intent in lock(touched | lost):
            settle_or_set_aside(intent, chain.chain_id, last)
            if intent.id in lost:
                watched_orders.watch_again(intent.id, last.time)
        _move_cursor(chain.chain_id, last)


def book_found(chain: Chain, cursor: Block, transfers: Sequence[Transfer]) -> None:
    """Record unknown transfers at or below the cursor. CursorMoved."""
    if not transfers:
        return
    with write_transaction():
        _lock_at(chain, cursor)
        _lock_concerned(chain, transfers, {})
        touched = payments.record(chain.chain_id, chain.token_address, transfers)
        collections.record(chain.chain_id, chain.token_address, transfers)
        for intent in lock(touched):
            settle_or_set_aside(intent, chain.chain_id, cursor)


def book_search(account: OrderAccount, transfers: Sequence[Transfer], searched_to: int) -> None:
    """Record what a search of one account's logs found, and the progress of the search.

    If the account has become the home meanwhile, or was it before, the next look searches again.
    """
    terms = account.terms
    with write_transaction():
        cursor = chains.cursor_of(lock_chain(terms.chain_id, shared=True))
        (intent,) = lock([account.intent_id])
        watched_orders.note_searched(account, searched_to)
        if cursor is not None:
            up_to_cursor = [each for each in transfers if each.block.number <= cursor.number]
            payments.record(terms.chain_id, terms.token_address, up_to_cursor, of_one=True)
            _record_sent(account, up_to_cursor)
            settle_or_set_aside(intent, terms.chain_id, cursor)


def rewind(chain: Chain, cursor: Block, ancestor: Block, hashes: Hashes) -> None:
    """After a reorganization, go back to the last common block, and remove replaced payments.

    `hashes` are the current ones of the blocks after `ancestor` with payments, if the chain still
    has blocks of these numbers. A payment whose block is still on the chain stays. CursorMoved.

    Example: the cursor is at block 110, and the blocks from 105 on were replaced: the ancestor is
    104. A payment in block 103 stays. One in block 106 is removed if that has another hash now; if
    the chain has no block 106 yet, it stays until there is one.
    """
    with write_transaction():
        _lock_at(chain, cursor)
        # Time does not go back: the grace period starts when the payment was last seen.
        _take_out(chain, hashes, replace(ancestor, time=max(ancestor.time, cursor.time)))
        block_history.forget_after(chain.chain_id, ancestor.number)
        _move_cursor(chain.chain_id, ancestor)


def check_refunds(chain: Chain, cursor: Block, checked: Sequence[Refund], hashes: Hashes) -> None:
    """Take back what is in another block than the chain has, and store that refunds were checked.

    `hashes` are those of a node that has the block `cursor`. CursorMoved if the worker has gone
    back before that block in the meantime.
    """
    with write_transaction():
        now = chains.cursor_of(lock_chain(chain.chain_id))
        if now is None or not (now == cursor or block_history.has(chain.chain_id, cursor)):
            raise CursorMoved(f"chain {chain.chain_id} was reorganized")
        _take_out(chain, hashes, now)
        payments.note_checked(checked)


def _take_out(chain: Chain, hashes: Hashes, as_of: Block) -> None:
    """Remove what was in replaced blocks, and settle its intents. The chain is locked."""
    _lock_concerned(chain, (), hashes)
    touched = payments.take_out_replaced(chain.chain_id, hashes)
    for intent in lock(touched):
        settle_or_set_aside(intent, chain.chain_id, as_of)
        # The payment may return in any block, so read the intent's logs again.
        watched_orders.watch_again(intent.id, as_of.time)


def skip_gap(chain: Chain, cursor: Block, to: Block) -> None:
    """Move the cursor past blocks that no node has any more. Block `to` is read next. CursorMoved.

    Payments that purchases recorded in these blocks stay, with the times of their blocks. All other
    money in them is found by balances: each watched order's logs are searched.
    """
    with write_transaction():
        _lock_at(chain, cursor)
        watched_orders.search_gap(chain.chain_id, cursor, to)
        block_history.forget_before(chain.chain_id, to.number)
        _move_cursor(chain.chain_id, to)
        chains.begin_at(chain.chain_id, to.number)
        counters.add(counters.SKIPPED_BLOCKS, str(chain.chain_id), to.number - cursor.number - 1)


def settle_deep(chain: Chain, cursor: Block, intent_ids: Collection[str], hashes: Hashes) -> int:
    """Settle intents whose payments may be final, if their blocks are still on the chain.

    `hashes` are those of the blocks of their payments. Return how many have a new status, or are
    final now.
    """
    with write_transaction():
        _lock_at(chain, cursor)
        _lock_concerned(chain, (), hashes, also=intent_ids)
        touched = payments.take_out_replaced(chain.chain_id, hashes)
        moved = 0
        for intent in lock({*touched, *intent_ids}):
            moved += settle_or_set_aside(intent, chain.chain_id, cursor)
        return moved


def book_view(intent: PaymentIntent, view: ChainView, *, to_drop: bool = False) -> PaymentIntent:
    """Record the view of one intent, and settle the intent.

    If the worker has gone back since, the view is ignored. ChainUnavailable if the hold would be
    dropped, now or by the caller (`to_drop`), while the address does not hold what is recorded.
    """
    with write_transaction():
        terms = intent.terms
        cursor = chains.cursor_of(lock_chain(terms.chain_id, shared=True))
        seats.lock(lock_rows([intent.id]))
        as_of = view.as_of
        if is_outdated(terms.chain_id, view, cursor):
            # Its blocks may be those that the worker has just removed.
            view = replace(view, transfers=[], hashes={})
            as_of = cursor or as_of
        elif cursor is not None and cursor.number > as_of.number:
            as_of = cursor
        payments.record(terms.chain_id, terms.token_address, view.transfers, of_one=True)
        _record_sent(intent.home, view.transfers)
        payments.take_out_replaced(terms.chain_id, view.hashes, only=intent.id)
        (intent,) = lock([intent.id])
        if to_drop and intent.terms != terms:
            # It is paid on another chain now, which was not read.
            raise ChainUnavailable
        before = intent.status
        may_expire = bool(stray_looks.looked_at_elsewhere([intent.id], terms.chain_id, as_of))
        settle_on(intent, terms.chain_id, as_of, may_expire=may_expire)
        drops = intent.status == IntentStatus.EXPIRED != before
        if (drops or to_drop) and (
            view.balance is None or view.balance != collections.held([intent.home])[intent.home.id]
        ):
            raise ChainUnavailable
        return intent


def _lock_concerned(
    chain: Chain, transfers: Sequence[Transfer], hashes: Hashes, also: Collection[str] = ()
) -> None:
    """Lock the intents whose rows are written next, and the stock of those that may be settled.

    The worker of another chain may move the home of an order at the same time, and with that the
    rows of both chains. So no account is looked up before its order is locked. Afterwards the
    orders are read again: what leaves the chain changes them.
    """
    to_settle = {*payments.concerned(chain.chain_id, transfers, hashes), *also}
    # A collection settles nothing, so the stock of its order is not locked.
    rows = lock_rows(to_settle | payments.issued_to({each.sender for each in transfers}))
    seats.lock([intent for intent in rows if intent.id in to_settle])


def _record_sent(account: OrderAccount, transfers: Sequence[Transfer]) -> None:
    """Record the collections of one account."""
    terms = account.terms
    sent = [each for each in transfers if each.sender == terms.address]
    collections.record(terms.chain_id, terms.token_address, sent)


def _lock_at(chain: Chain, block: Block) -> None:
    """Lock a chain whose cursor is at `block`. CursorMoved if it is elsewhere."""
    if chains.cursor_of(lock_chain(chain.chain_id)) != block:
        raise CursorMoved(f"chain {chain.chain_id} is being read by another worker")


def _move_cursor(chain_id: int, cursor: Block) -> None:
    block_history.remember(chain_id, cursor)
    (
        ChainState.update(
            block_number=cursor.number,
            block_hash=cursor.hash,
            block_time=cursor.time,
            looked_at=clock.now(),
        )
        .where(ChainState.chain_id == chain_id)
        .execute()
    )
