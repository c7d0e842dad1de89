"""Watching one chain: check it, read its new blocks, book what they hold, settle what is due."""

import logging

from ticketing.chain import units
from ticketing.chain.node import Block, ChainMoved, TokenFacts, connect
from ticketing.chain.registry import Chain
from ticketing.services import chains, intents, ledger, settlement

MIN_REWIND_BLOCKS = 64

log = logging.getLogger(__name__)


class ChainRefused(Exception):
    """The chain is not what the registry says: nothing may be sold on it."""


class Watcher:
    """Watches one chain. Each look is complete in itself and may be broken off anywhere."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self._node = connect(chain.rpc_url)
        self._checked = False

    def look(self) -> None:
        """Take one look at the chain.

        RpcError if it cannot be seen, ChainRefused if it differs from the registry, CursorMoved
        if another worker was faster.
        """
        if not self._checked:
            self._check()
            self._checked = True
        head, cursor = self._head_and_cursor()
        if head.number > cursor.number:
            self._read(cursor, head)
        chains.note_look(self.chain.chain_id)
        settlement.settle_due(self.chain.chain_id)

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
        if there is None:
            raise ChainMoved(f"the node is at block {head.number}, behind {cursor.number}")
        return head, cursor if there == cursor else self._rewind(cursor)

    def _start(self, head: Block) -> Block:
        """Begin at the head, or before the oldest intent that somebody may have paid already."""
        oldest = intents.oldest_live(self.chain.chain_id)
        number = head.number
        if oldest is not None:
            since = oldest.created_at - chains.CLOCK_SKEW
            number = max(0, self._node.first_block_since(since, head) - 1)
        start = self._block(number)
        settlement.start_reading(self.chain, start)
        return start

    def _rewind(self, cursor: Block) -> Block:
        """Go back before a reorganization; what is read again corrects the books."""
        back = max(MIN_REWIND_BLOCKS, 2 * self.chain.confirmations)
        target = self._block(max(0, cursor.number - back))
        log.warning("chain %s: reorganized at %s", self.chain.chain_id, cursor.number)
        settlement.rewind(self.chain, target)
        return target

    def _read(self, cursor: Block, head: Block) -> None:
        chain = self.chain
        # Loaded after the head was: who was shown an address since then pays in a later block.
        watched = ledger.watched_addresses(chain.chain_id, chain.token_address, cursor)
        first = cursor.number + 1
        for last, transfers in self._node.transfers(chain.token_address, watched, first, head):
            settlement.record_range(chain, first, last, watched, transfers)
            if last != head or first != cursor.number + 1:
                log.info("chain %s: read to %s of %s", chain.chain_id, last.number, head.number)
            first = last.number + 1

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
