"""Watching one chain: check it, read its new blocks, book what they hold, settle what is due."""

import logging
import uuid
from collections.abc import Sequence

from ticketing.chain import units
from ticketing.chain.answers import Block, TokenFacts
from ticketing.chain.node import ChainMoved, connect
from ticketing.chain.registry import Chain
from ticketing.chain.rpc import RpcError
from ticketing.services import chains, counters
from ticketing.services.orders import intents
from ticketing.services.payments import block_history, payments, settlement
from ticketing.services.payments.settlement import CursorMoved
from ticketing.worker.balance_sweep import BalanceSweep

_HEADERS_AT_ONCE = 32

log = logging.getLogger(__name__)


class ChainRefused(Exception):
    """The chain is not what the registry says: nothing may be sold on it."""


class Watcher:
    """Watches one chain. Each look is complete in itself and may be broken off anywhere."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self._holder = uuid.uuid4().hex
        self._node = connect(chain)
        self._balance_sweep = BalanceSweep(chain, self._node)
        self._checked = False
        self._in_charge: bool | None = None

    def look(self) -> None:
        """Take one look at the chain, unless another worker has the lease on it.

        RpcError if it cannot be seen, ChainRefused if it differs from the registry, CursorMoved
        if another worker was faster.
        """
        try:
            self._look()
        except RpcError:
            counters.add(counters.UNSEEN, str(self.chain.chain_id))
            raise

    def _look(self) -> None:
        if not self._checked:
            self._check()
            self._checked = True
        if not self._take_lease():
            return
        head, cursor = self._head_and_cursor()
        if head.number > cursor.number:
            self._read(cursor, head)
            cursor = head
        chains.note_look(self.chain.chain_id)
        self._settle(cursor)
        self._balance_sweep.sweep(cursor)

    def leave(self) -> None:
        """Let another worker go on at once."""
        chains.give_lease_back(self.chain.chain_id, self._holder)

    def _take_lease(self) -> bool:
        """Take or renew the lease, and tell the log where that changes who is in charge."""
        taken = chains.take_lease(self.chain.chain_id, self._holder)
        if taken != self._in_charge:
            doing = "watching" if taken else "standing by for"
            log.info("%s chain %s", doing, self.chain.chain_id)
            self._in_charge = taken
        return taken

    def _check(self) -> None:
        facts = self._node.token_facts(self.chain.token_address)
        refusal = _difference(self.chain, facts)
        chains.note_facts(self.chain, facts, refusal)
        if refusal is not None:
            raise ChainRefused(f"chain {self.chain.chain_id} is refused: {refusal}")

    def _head_and_cursor(self) -> tuple[Block, Block]:
        """Return the newest block and the last one read, once it is known to be on the chain."""
        cursor = chains.cursor(self.chain.chain_id)
        if cursor is None:
            head = self._node.head()
            return head, self._start(head)
        head, there = self._node.head_and(cursor.number)
        if there is None and head.number >= cursor.number:
            raise ChainMoved(f"the node does not have block {cursor.number}")
        return head, cursor if there == cursor else self._rewind(cursor, head)

    def _start(self, head: Block) -> Block:
        """Begin at the head, or before the first intent that somebody may have paid already."""
        oldest = intents.oldest(self.chain.chain_id)
        number = head.number
        if oldest is not None:
            since = oldest.created_at - chains.CLOCK_SKEW
            number = max(0, self._node.first_block_since(since, head) - 1)
        start = self._block(number)
        settlement.start_reading(self.chain, start)
        return start

    def _rewind(self, cursor: Block, head: Block) -> Block:
        """Go back to the newest block that we have read and that the chain still has."""
        known = block_history.newest_first(self.chain.chain_id)
        if head.number < cursor.number and self._is_ours(known, cursor, head):
            raise ChainMoved(f"the node is at block {head.number}, behind {cursor.number}")
        for start in range(0, len(known), _HEADERS_AT_ONCE):
            some = known[start : start + _HEADERS_AT_ONCE]
            now = self._node.blocks([block.number for block in some])
            for before, after in zip(some, now, strict=True):
                if before == after:
                    return self._go_back(cursor, before)
        # It reaches further back than we have read, and what it moved may lie there now.
        oldest = known[-1].number if known else cursor.number
        return self._go_back(
            cursor, self._block(max(0, min(oldest, head.number) - block_history.KEPT))
        )

    def _go_back(self, cursor: Block, ancestor: Block) -> Block:
        log.warning(
            "chain %s: reorganized after block %s; %s blocks are read again",
            *(self.chain.chain_id, ancestor.number, cursor.number - ancestor.number),
        )
        settlement.rewind(self.chain, ancestor)
        return ancestor

    def _is_ours(self, known: Sequence[Block], cursor: Block, head: Block) -> bool:
        """Tell whether a head below the cursor is only a node's that lags behind."""
        below = [block for block in known if block.number <= head.number]
        if not below:
            # Below all that is kept only the time can tell: what replaced our blocks is newer.
            return head.time <= cursor.time
        return self._node.blocks([below[0].number]) == [below[0]]

    def _read(self, cursor: Block, head: Block) -> None:
        chain = self.chain
        # Loaded after the head was: who was shown an address since then pays in a later block.
        watched = payments.watched_addresses(chain.chain_id, chain.token_address, cursor)
        first = cursor.number + 1
        for last, transfers in self._node.transfers(chain.token_address, watched, first, head):
            # Booked even if the lease ran out meanwhile: with a slow node, nobody else got further.
            settlement.record_range(chain, first, last, watched, transfers)
            if not chains.take_lease(chain.chain_id, self._holder):
                raise CursorMoved(f"chain {chain.chain_id}: another worker has taken over")
            if last != head or first != cursor.number + 1:
                log.info("chain %s: read to %s of %s", chain.chain_id, last.number, head.number)
            first = last.number + 1

    def _settle(self, cursor: Block) -> None:
        """Settle what the cursor's place alone decides: payments deep enough, deadlines passed."""
        chain_id = self.chain.chain_id
        moved = True
        while moved:
            moved = settlement.settle(chain_id, settlement.deep_enough(chain_id, cursor)) > 0
            past = settlement.past_deadline(chain_id, cursor)
            self._balance_sweep.before_expiry(past, cursor)
            moved |= settlement.settle(chain_id, past) > 0

    def _block(self, number: int) -> Block:
        (block,) = self._node.blocks([number])
        if block is None:
            raise ChainMoved(f"the node does not have block {number}")
        return block


def _difference(chain: Chain, facts: TokenFacts) -> str | None:
    """Say how a chain differs from what is known of it, None if it does not."""
    if facts.chain_id != chain.chain_id:
        return f"the node answers for chain {facts.chain_id}"
    if facts.decimals is None or facts.symbol is None:
        return f"there is no token at {chain.token_address}"
    if chain.decimals is None and not 0 <= facts.decimals <= units.MAX_DECIMALS:
        return f"its token has {facts.decimals} decimals"
    if chain.decimals is not None and facts.decimals != chain.decimals:
        return f"its token has {facts.decimals} decimals, not {chain.decimals}"
    if chain.symbol is not None and facts.symbol != chain.symbol:
        return f"its token is {facts.symbol[:20]!r}, not {chain.symbol!r}"
    return None
