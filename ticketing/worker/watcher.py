"""Watch one chain: check it, read new blocks, record payments, and settle orders."""

import logging
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from ticketing import clock
from ticketing.chain import units
from ticketing.chain.answers import Block, TokenFacts
from ticketing.chain.eip3009 import TokenDomain
from ticketing.chain.endpoint import Call
from ticketing.chain.errors import (
    ChainMoved,
    NotLinked,
    RpcError,
    RpcLimited,
    RpcRefused,
    RpcSilent,
)
from ticketing.chain.node import connect
from ticketing.chain.registry import Chain
from ticketing.chain.transfer_logs import Range
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services import chains, counters
from ticketing.services.leases import LeaseHolder
from ticketing.services.orders import intents
from ticketing.services.payments import (
    block_history,
    booking,
    chain_settlement,
    collections,
    payments,
    settlement,
    stray_looks,
    watched_orders,
)
from ticketing.services.payments.booking import CursorMoved, Hashes
from ticketing.worker.balance_sweep import BalanceSweep
from ticketing.worker.history_gap import HistoryGap
from ticketing.worker.payout_reader import PayoutReader
from ticketing.worker.receiver_check import ReceiverCheck
from ticketing.worker.refund_check import RefundCheck
from ticketing.worker.stray_look import StrayLook
from ticketing.worker.unassigned_sweep import UnassignedSweep

QUIET = timedelta(seconds=20)
"""How often a chain is read on which nobody waits."""

_AT_ONCE = timedelta(0)

_FIRST_HEADERS, _HEADERS_AT_ONCE = 4, 32

log = logging.getLogger(__name__)


class ChainRefused(Exception):
    """The chain differs from the registry, so nothing may be sold on it."""


class ReorganizedTooDeep(RpcError):
    """The node's chain has none of the stored blocks."""


class Watcher:
    """Watches one chain. Each `look` is independent and may be interrupted at any point."""

    def __init__(
        self, chain: Chain, *, every: timedelta = _AT_ONCE, accept_reorganization: bool = False
    ) -> None:
        """Watch a chain. `every`: how often it is read while somebody waits.

        `accept_reorganization`: it may go back beyond all stored blocks.
        """
        self.chain = chain
        self._accept_reorganization = accept_reorganization
        self._lease = LeaseHolder(f"chain {chain.chain_id}")
        self._node = connect(chain)
        self._balance_sweep = BalanceSweep(chain, self._node)
        self._stray_look = StrayLook(chain, self._node)
        self._unassigned_sweep = UnassignedSweep(chain, self._node)
        self._refund_check = RefundCheck(chain, self._node)
        self._payout_reader = PayoutReader(chain, self._node)
        self._gap = HistoryGap(chain, self._node)
        self._checked = False
        self._receivers = ReceiverCheck(chain, self._node)
        self._every = every
        self._head: Block | None = None
        """The newest block that the last look saw. None after an error."""
        self._tried_at: datetime | None = None
        self._looked_at: datetime | None = None
        self._is_quiet = False
        self._reads_all = False
        """Whether the looks read what the other threads of the chain read at other times."""

    @property
    def is_in_charge(self) -> bool:
        """Whether this worker had the lease at the last look."""
        return bool(self._lease.is_held)

    def look_if_due(self) -> None:
        """Look if it is due. Errors: see `look`.

        While somebody waits for the chain, that is `every` so often: a buyer with an open order, an
        organizer after a signature. Else it is every QUIET. It is called more often, and so notices
        the first new order in the database within a second.
        """
        if self._checked and not self._has_lease():
            return
        chain_id = self.chain.chain_id
        is_awaited = chains.is_awaited(chain_id) or watched_orders.has_open_orders(chain_id)
        was_quiet, self._is_quiet = self._is_quiet, not is_awaited
        wakes = was_quiet and not self._is_quiet
        if clock.is_within(self._every, self._tried_at) and not wakes:
            return
        if self._is_quiet and clock.is_within(QUIET, self._looked_at):
            return
        self._tried_at = clock.now()
        if self._is_quiet:
            self._look_quietly()
        else:
            self._reads_all = False
            self.look()

    def look(self) -> None:
        """Read the chain once, unless another worker holds its lease.

        RpcError if it cannot be read, ChainRefused if it differs from the registry, CursorMoved
        if another process recorded something in the meantime.
        """
        try:
            self._look()
        except RpcError:
            counters.add(counters.RPC_ERRORS, str(self.chain.chain_id))
            raise

    def _look_quietly(self) -> None:
        """Read with one request for everything, if there is nothing new. Errors: see `look`.

        It reads up to the head that the look before has seen: then all calls are known before the
        request, which also asks for the next head. What is new needs further requests. If the
        request is refused or the chain was reorganized, this is a usual look, and the other threads
        read their part.

        Example: the cursor is 100, and the look before has seen 110. One request asks for the head,
        which is 120, the logs of 101 to 110, the events of payers up to 110, and the balances at
        110 that must be compared. The next look reads up to 120.
        """
        to, self._head = self._head, None
        cursor = chains.cursor(self.chain.chain_id)
        self._reads_all = to is not None and cursor is not None and to.number >= cursor.number
        if to is None or cursor is None or not self._reads_all:
            self.look()
            return
        try:
            with self._node.asked_ahead(self._calls(cursor, to)):
                self._look(to)
                if not self.is_in_charge:
                    return
                self._payout_reader.run(to)
                self._stray_look.run(to)
                self._balance_sweep.compare(to)
                self._unassigned_sweep.run(pages=1)
                self._head = self._node.head()
        except RpcError as error:
            self._reads_all = False
            if isinstance(error, RpcLimited | RpcSilent):
                counters.add(counters.RPC_ERRORS, str(self.chain.chain_id))
                raise
            self.look()
            return
        self._looked_at = clock.now()

    def _calls(self, cursor: Block, to: Block) -> list[Call]:
        """Return the calls of a quiet look up to a block."""
        calls: list[Call] = []
        if to.number > cursor.number:
            watched, first = self._watched(cursor)
            calls = self._node.transfer_calls(self.chain.token_address, watched, first, to, cursor)
        calls += self._payout_reader.calls(to)
        calls += self._stray_look.calls(to)
        calls += self._balance_sweep.calls(to)
        return calls + self._unassigned_sweep.calls()

    def sweep(self) -> None:
        """Compare the balances of ended intents, and search the logs of those that differ.

        Only the worker with the lease does it. RpcError if the chain cannot be read.
        """
        cursor = chains.cursor(self.chain.chain_id)
        if not self.is_in_charge or cursor is None:
            return
        if not self._reads_all:
            self._stray_look.run(cursor)
            self._balance_sweep.compare(cursor)
        self._balance_sweep.search(cursor)
        if not self._reads_all or self._unassigned_sweep.has_more:
            self._unassigned_sweep.run()

    def check_refunds(self) -> None:
        """Compare the blocks of some refunds once more, and book those that lists paid.

        Only the worker with the lease does it.

        RpcError if the chain cannot be read, CursorMoved if it was reorganized meanwhile.
        """
        cursor = chains.cursor(self.chain.chain_id)
        if not self.is_in_charge or cursor is None:
            return
        self._refund_check.run(cursor)
        if not self._reads_all:
            self._payout_reader.run(cursor)

    def leave(self) -> None:
        """Release the lease, so that another worker can continue at once."""
        self._lease.give_back()

    def _look(self, to: Block | None = None) -> None:
        """Read up to a block, which the node had at the look before, or up to the newest one."""
        if not self._checked:
            self._check()
            self._checked = True
        if not self._take_lease():
            return
        self._receivers.run()
        head = chains.check_head(self.chain.chain_id, to or self._node.head())
        cursor = self._follow(head)
        chains.note_look(self.chain.chain_id)
        self._settle(cursor)
        self._head, self._looked_at = head, clock.now()

    def _has_lease(self) -> bool:
        """Return whether this worker has the lease. It is renewed from time to time."""
        return self._noted(self._lease.is_held, self._lease.keep())

    def _take_lease(self) -> bool:
        """Take or renew the lease now. Return whether this worker has it."""
        return self._noted(self._lease.is_held, self._lease.take())

    def _noted(self, was_held: bool | None, is_held: bool) -> bool:
        """Log a change of the lease."""
        if is_held != was_held:
            doing = "watching" if is_held else "standing by for"
            log.info("%s chain %s", doing, self.chain.chain_id)
        return is_held

    def _check(self) -> None:
        facts = self._node.token_facts(self.chain.token_address)
        refusal = _difference(self.chain, facts)
        chains.note_facts(self.chain, facts, refusal, self._domain())
        if refusal is not None:
            raise ChainRefused(f"chain {self.chain.chain_id} is refused: {refusal}")

    def _domain(self) -> TokenDomain | None:
        """Return what messages for the token are signed with. Only a facilitator needs it."""
        if self.chain.facilitator is None:
            return None
        domain = self._node.token_domain(self.chain.chain_id, self.chain.token_address)
        if domain is None:
            log.warning("chain %s: x402 cannot use its token", self.chain.chain_id)
        return domain

    def _follow(self, head: Block) -> Block:
        """Read up to the head. After a reorganization, go back first. Return the cursor."""
        cursor = chains.cursor(self.chain.chain_id) or self._start(head)
        if head.number < cursor.number or (head.number == cursor.number and head != cursor):
            cursor = self._rewind(cursor, head)
        try:
            return self._read(cursor, head)
        except NotLinked:
            cursor = chains.cursor(self.chain.chain_id) or cursor
            return self._read(self._rewind(cursor, head), head)
        except (RpcLimited, RpcSilent):
            raise
        except RpcError:
            cursor = chains.cursor(self.chain.chain_id) or cursor
            after_gap = self._gap.skip(cursor, head)
            if after_gap is None:
                raise
            return self._read(after_gap, head)

    def _start(self, head: Block) -> Block:
        """Start at the head, or before the oldest intent that may have been paid already."""
        oldest = intents.oldest(self.chain.chain_id)
        if oldest is None:
            start = self._node.block(head.number)
        else:
            start = self._before_first(oldest, head)
        booking.start_reading(self.chain, start)
        return start

    def _before_first(self, oldest: PaymentIntent, head: Block) -> Block:
        """Return the block to begin at, so that no payment since the oldest intent is missed."""
        first = self._node.first_block_since(oldest.created_at - chains.CLOCK_SKEW, head)
        try:
            return self._node.block(max(0, first - 1))
        except (ChainMoved, RpcRefused):
            # It is pruned. Start later: the last `confirmations` blocks are read again anyway.
            return self._node.block(min(first - 1 + self.chain.confirmations, head.number))

    def _read(self, cursor: Block, head: Block) -> Block:
        """Read the blocks after the cursor, and again the last `confirmations` blocks before it.

        Nodes may omit logs near their tip, and the second reading finds them.
        """
        chain = self.chain
        if head.number <= cursor.number:
            return cursor
        # Loaded after the head: an address that is issued later is paid in a later block.
        watched, first = self._watched(cursor)
        start = cursor
        ranges = self._node.transfers(chain.token_address, watched, first, head, after=cursor)
        for found in ranges:
            if found.last.number <= cursor.number:
                booking.book_found(chain, cursor, found.transfers)
                self._stray_look.search_collected(found.transfers, cursor)
                continue
            # Recorded even if the lease expired meanwhile: with a slow node, nobody read further.
            self._book(cursor, found)
            is_all = cursor == start and found.last == head
            cursor = found.last
            self._stray_look.search_collected(found.transfers, cursor)
            if not self._take_lease():
                raise CursorMoved(f"chain {chain.chain_id}: another worker has taken over")
            if not is_all:
                log.info("chain %s: read to %s of %s", chain.chain_id, cursor.number, head.number)
        return cursor

    def _watched(self, cursor: Block) -> tuple[frozenset[str], int]:
        """Return the recipients whose transfers are read after the cursor, and the first block.

        What receivers sent is read by recipient, so many receivers do not make it slower.
        """
        chain = self.chain
        orders = watched_orders.watched_addresses(chain.chain_id, chain.token_address, cursor)
        watched = orders | collections.recipients()
        again = max(cursor.number + 1 - chain.confirmations, chains.read_from(chain.chain_id))
        return watched, again if watched else cursor.number + 1

    def _book(self, cursor: Block, found: Range) -> None:
        booked = payments.blocks_after(self.chain.chain_id, cursor.number)
        below = [number for number in booked if number <= found.last.number]
        hashes = self._hashes(below)
        if len(hashes) < len(below):
            raise ChainMoved("the node lacks a block that holds a payment")
        booking.book_range(self.chain, cursor, found.last, found.transfers, hashes)
        if found.left_out:
            log.error(
                "chain %s: the node refuses the logs of %s addresses in block %s: balances are"
                " compared later",
                self.chain.chain_id,
                len(found.left_out),
                found.last.number,
            )
            watched_orders.search_again(self.chain.chain_id, found.left_out, found.last)

    def _rewind(self, cursor: Block, head: Block) -> Block:
        """Go back to the newest stored block that the chain still has."""
        known = block_history.newest_first(self.chain.chain_id)
        if head.number < cursor.number and self._lags(known, cursor, head):
            raise ChainMoved(f"the node is at block {head.number}, behind {cursor.number}")
        shared = self._common_ancestor(known)
        self._check_depth(known, cursor, shared)
        ancestor = shared or self._before(known, cursor, head)
        if ancestor == cursor:
            raise ChainMoved("the node contradicts itself")
        log.warning(
            "chain %s: reorganized after block %s; %s blocks are read again",
            self.chain.chain_id,
            ancestor.number,
            cursor.number - ancestor.number,
        )
        held = payments.blocks_after(self.chain.chain_id, ancestor.number)
        there = self._hashes(number for number in held if number <= head.number)
        booking.rewind(self.chain, cursor, ancestor, there)
        return ancestor

    def _check_depth(self, known: Sequence[Block], cursor: Block, shared: Block | None) -> None:
        """Stop if MOST_BLOCKS_BACK blocks after `shared`, or more than these, were replaced.

        They are counted from the oldest stored block that was replaced, not from `shared`. Of each
        range only the last block is stored, so after a catch-up `shared` may be up to KEPT blocks
        below the cursor; after a range of more than KEPT blocks, nothing below its end is stored.
        """
        replaced = [each.number for each in known if shared is None or each.number > shared.number]
        depth = cursor.number - min(replaced, default=cursor.number)
        if depth >= block_history.MOST_BLOCKS_BACK and not self._accept_reorganization:
            raise ReorganizedTooDeep(
                f"the node has none of the last {block_history.MOST_BLOCKS_BACK} blocks that were"
                " read: it may answer for another chain. Nothing was changed. If the chain was"
                " reorganized so deeply, run `worker --once --accept-reorganization`"
            )

    def _before(self, kept: Sequence[Block], cursor: Block, head: Block) -> Block:
        """Return the block MOST_BLOCKS_BACK before the oldest stored one.

        Or the first one that may be read: the genesis block, or the end of a gap.
        """
        oldest = kept[-1] if kept else cursor
        before = min(oldest.number, head.number) - block_history.MOST_BLOCKS_BACK
        return self._node.block(max(before, chains.read_from(self.chain.chain_id)))

    def _common_ancestor(self, known: Sequence[Block]) -> Block | None:
        start = 0
        while some := known[start : start + max(_FIRST_HEADERS, min(start, _HEADERS_AT_ONCE))]:
            now = self._node.blocks([block.number for block in some])
            if same := [old for old, new in zip(some, now, strict=True) if old == new]:
                return same[0]
            start += len(some)
        return None

    def _lags(self, known: Sequence[Block], cursor: Block, head: Block) -> bool:
        """Return whether a head below the cursor comes from a node that lags."""
        below = [block for block in known if block.number <= head.number]
        if not below:
            # Below all stored blocks only the time helps: blocks that replaced ours are newer.
            return head.time <= cursor.time
        return self._node.blocks([below[0].number]) == [below[0]]

    def _settle(self, cursor: Block) -> None:
        """Settle what depends only on the cursor: final payments, and deadlines that passed."""
        chain_id = self.chain.chain_id
        moved = True
        while moved:
            moved = self._settle_deep(cursor)
            past = settlement.past_deadline(chain_id, cursor)
            past = stray_looks.looked_at_elsewhere(past, chain_id, cursor)
            past = self._balance_sweep.before_expiry(past, cursor)
            moved |= chain_settlement.settle_again(chain_id, past) > 0
        chain_settlement.settle_again(
            chain_id, chain_settlement.set_aside_due(chain_id), may_expire=False
        )

    def _settle_deep(self, cursor: Block) -> bool:
        """Settle payments that are deep enough, if their blocks are still on the chain.

        Return whether that may let others be settled: an order has a new status or is final, or
        there are more.

        Old blocks are not requested: each block after them was checked to follow its parent. Blocks
        above the cursor are not requested either: nothing in them is final. Nor are those in a gap.
        """
        final = settlement.deep_enough(self.chain.chain_id, cursor)
        old = block_history.last_old(cursor.number, self.chain.confirmations)
        old = max(old, chains.read_from(self.chain.chain_id) - 1)
        numbers = {
            each
            for each in payments.blocks_of(self.chain.chain_id, final, old)
            if each <= cursor.number
        }
        hashes = self._hashes(numbers)
        if len(hashes) < len(numbers):
            raise ChainMoved("the node lacks a block that holds a payment")
        if not final:
            return False
        moved = booking.settle_deep(self.chain, cursor, final, hashes)
        return moved > 0 or len(final) >= settlement.INTENTS_PER_TRANSACTION

    def _hashes(self, numbers: Iterable[int]) -> Hashes:
        found = self._node.blocks(sorted(numbers))
        return {block.number: block.hash for block in found if block is not None}


def _difference(chain: Chain, facts: TokenFacts) -> str | None:
    """Return how a chain differs from its configuration. None if it does not."""
    if facts.chain_id != chain.chain_id:
        return f"the node serves chain {facts.chain_id}"
    if facts.decimals is None or facts.symbol is None:
        return f"there is no token at {chain.token_address}"
    if chain.decimals is None and not 0 <= facts.decimals <= units.MAX_DECIMALS:
        return f"its token has {facts.decimals} decimals"
    if chain.decimals is not None and facts.decimals != chain.decimals:
        return f"its token has {facts.decimals} decimals, not {chain.decimals}"
    if chain.symbol is not None and facts.symbol != chain.symbol:
        return f"its token is {facts.symbol[:20]!r}, not {chain.symbol!r}"
    return None
