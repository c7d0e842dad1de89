"""Go on after blocks that no node of a chain has any more, instead of waiting for them for ever."""

import logging
from datetime import timedelta

from ticketing import clock
from ticketing.chain.answers import Block
from ticketing.chain.node import Node
from ticketing.chain.registry import Chain
from ticketing.services import chains
from ticketing.services.payments import block_history, booking

SEEN_FOR = timedelta(seconds=10)
"""How long blocks must have been missing. One wrong response must not skip any."""

SEEN_FOR_WITH_FAILED_URL = timedelta(minutes=10)
"""The same, while a URL of the chain fails: it may have the blocks."""

_MARGIN = 8
"""So many blocks after the first one that is left are skipped too: they vanish while we read."""

log = logging.getLogger(__name__)


class HistoryGap:
    """Finds out that blocks after the cursor are missing, and moves the cursor past them.

    A block is missing if no URL of the chain has its header and its logs.
    """

    def __init__(self, chain: Chain, node: Node) -> None:
        self._chain = chain
        self._node = node
        self._missing = self._found = -1

    def skip(self, cursor: Block, head: Block) -> Block | None:
        """Move the cursor past missing blocks. Return the new cursor, or None if it stays.

        It stays while the next block is there, or near the head, where a node may only lag, or was
        not missing at an earlier look, at least SEEN_FOR ago. RpcError, CursorMoved.

        Example: the cursor is 2043, the head 9000, and the node has 5000 to 9000. The new cursor
        is 5008: the blocks 2044 to 5007 are skipped, and 5008 is read next.
        """
        chain_id = self._chain.chain_id
        if head.number - cursor.number <= block_history.RECENT:
            return None
        if self._has(cursor.number + 1):
            chains.forget_gap(chain_id)
            return None
        if not self._has(head.number):
            # It refuses all logs. That is no gap.
            return None
        seen_at = chains.note_gap(chain_id, cursor)
        seen_for = SEEN_FOR_WITH_FAILED_URL if self._node.has_failed_url else SEEN_FOR
        if clock.is_within(seen_for, seen_at):
            return None
        first = min(self._first_left(cursor.number + 1, head.number) + _MARGIN, head.number)
        (start,) = self._node.blocks([first])
        if start is None:
            # It vanished since the search.
            self._found = -1
            return None
        booking.skip_gap(self._chain, cursor, start)
        log.error(
            "chain %s: no node has the blocks %s to %s any more: they were not read. Orders that"
            " hold more than is booked keep their seats until a URL of RPC_URL_%s has these logs",
            chain_id,
            cursor.number + 1,
            start.number - 1,
            chain_id,
        )
        return start

    def _first_left(self, missing: int, found: int) -> int:
        """Return the first block that is left, between one that is missing and one that is not.

        If an error ends the search, the next call continues.
        """
        if not missing <= self._missing < self._found <= found:
            self._missing, self._found = missing, found
        while self._found - self._missing > 1:
            middle = (self._missing + self._found) // 2
            if self._has(middle):
                self._found = middle
            else:
                self._missing = middle
        return self._found

    def _has(self, number: int) -> bool:
        return self._node.has_history(self._chain.token_address, number)
