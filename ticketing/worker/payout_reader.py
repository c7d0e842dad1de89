"""Read the events of payers, and book what they paid back.

Only blocks that are final are read, some ranges at each call. The last ones are read again, because
nodes may omit logs of new blocks.
"""

import logging
from collections.abc import Mapping, Sequence

from ticketing.chain.answers import Block
from ticketing.chain.block_headers import header_call
from ticketing.chain.endpoint import Call
from ticketing.chain.errors import ChainMoved, RpcError, RpcLimited, RpcRefused, RpcSilent
from ticketing.chain.node import Node
from ticketing.chain.refunded_events import PaidRefund, Refunded
from ticketing.chain.registry import Chain
from ticketing.chain.request_size import RequestSize
from ticketing.chain.transfer_logs import BLOCKS_PER_RANGE
from ticketing.services import chains
from ticketing.services.payments import block_history, payout_events
from ticketing.services.payments.payout_events import Known

RANGES_PER_PASS = 20
"""The most requests for logs of one call. After a long pause, further calls go on."""

log = logging.getLogger(__name__)


class PayoutReader:
    """Reads the events of one chain. Nothing is asked while nobody has a list there."""

    def __init__(self, chain: Chain, node: Node) -> None:
        self._chain = chain
        self._node = node
        self._width = RequestSize(BLOCKS_PER_RANGE)
        self._done_at: Block | None = None
        """The worker's cursor up to which all was read."""

    def run(self, cursor: Block) -> None:
        """Read events that are final at the cursor, and book them. RpcError, CursorMoved."""
        try:
            if cursor != self._done_at:
                self._done_at = cursor if self._read(cursor) else None
        finally:
            # A node that does not respond keeps nothing that is stored from being booked.
            payout_events.book_waiting(self._chain.chain_id)

    def calls(self, cursor: Block) -> list[Call]:
        """Return the calls of `run` with a cursor, if nothing has happened."""
        read, payers = self._unread(cursor)
        if read is None or cursor == self._done_at:
            return []
        first, last = self._first(read), self._last(cursor)
        end = min(first + self._width.now - 1, last)
        of_events = self._node.payouts.refunded_calls(cursor, payers, first, end)
        return [header_call(read.number), *of_events]

    def _unread(self, cursor: Block) -> tuple[Block | None, list[str] | None]:
        """Return up to where events were read, and whose are read now. No block: nobody's."""
        read = payout_events.cursor(self._chain.chain_id)
        if read is None or self._last(cursor) < read.number:
            return None, []
        payers = payout_events.payers(self._chain.chain_id, read.time)
        return (None if payers == [] else read), payers

    def _first(self, read: Block) -> int:
        again = read.number + 1 - self._chain.confirmations
        return max(0, again, chains.read_from(self._chain.chain_id))

    def _last(self, cursor: Block) -> int:
        return cursor.number + 1 - self._chain.confirmations

    def _read(self, cursor: Block) -> bool:
        """Read some ranges. Return whether all was read that is final at the cursor."""
        chain_id = self._chain.chain_id
        unread, payers = self._unread(cursor)
        if unread is None:
            return True
        read = self._go_back_if_replaced(cursor, unread)
        first, last = self._first(read), self._last(cursor)
        if first > read.number + 1:
            log.error(
                "chain %s: no node has blocks %s to %s: what lists paid in them is not booked",
                chain_id,
                read.number + 1,
                first - 1,
            )
        for _ in range(RANGES_PER_PASS):
            if first > last:
                return True
            read = self._read_range(cursor, read, payers, first, last)
            first = max(first, read.number + 1)
        return first > last

    def _read_range(
        self, cursor: Block, read: Block, payers: Sequence[str] | None, first: int, last: int
    ) -> Block:
        """Read one range, as wide as the node accepts. Return the new cursor of events."""
        end = min(first + self._width.now - 1, last)
        try:
            block, found = self._node.payouts.refunded(cursor, payers, first, end)
        except (ChainMoved, RpcLimited, RpcSilent):
            raise
        except RpcError:
            self._width.failed(end - first + 1)
            if end == first:
                raise
            return read
        self._width.passed(end - first + 1)
        blocks = dict(found)
        known = payout_events.known(self._chain.chain_id, blocks.keys())
        paid = self._with_transfers(cursor, known, blocks)
        unlisted = {each.event.id: each.unlisted for each in known if each.unlisted is not None}
        payout_events.store(self._chain, cursor, read, block, paid, unlisted)
        return block if block.number > read.number else read

    def _with_transfers(
        self, cursor: Block, known: Sequence[Known], blocks: Mapping[Refunded, Block]
    ) -> list[PaidRefund]:
        """Return known events with their transfers.

        An event of another token than was listed has none. That contract is not asked: its logs
        could be anything, and must not keep the events of others from being read.
        """
        asked = sorted(
            {(each.event.tx_hash, each.token_address) for each in known if each.is_token}
        )
        paid: dict[tuple[str, int], PaidRefund] = {}
        for tx_hash, token_address in asked:
            _, _, refunds = self._node.payouts.refunds_of(tx_hash, token_address, cursor)
            paid |= {(tx_hash, each.event.log_index): each for each in refunds}
        found = []
        for each in known:
            event = each.event
            of_token = paid.get((event.tx_hash, event.log_index))
            if each.is_token and of_token is None:
                # A node that lags or lies must not make a payment look as if nothing was paid.
                raise ChainMoved("the receipt of an event lacks the event")
            found.append(of_token or PaidRefund(event, blocks[event], None))
        return found

    def _go_back_if_replaced(self, cursor: Block, read: Block) -> Block:
        """Return the block after which events must be read, once more if blocks were replaced.

        A reorganization of more blocks than the worker itself goes back is not undone.
        """
        try:
            (now,) = self._node.blocks_linked(cursor, [read.number])
        except RpcRefused:
            # Some nodes refuse old headers. What follows is read from a node on the right chain.
            now = None
        if now is None or now.hash == read.hash:
            return read
        number = max(0, read.number - block_history.MOST_BLOCKS_BACK)
        seen = payout_events.seen_blocks(self._chain.chain_id, number)
        below = [each for each in seen if each <= cursor.number]
        to, *blocks = self._node.blocks_linked(cursor, [number, *below])
        if to is None:
            raise ChainMoved(f"the node does not have block {number}")
        hashes = {each.number: each.hash for each in blocks if each is not None}
        log.warning(
            "chain %s: reorganized; refunds of lists are read again after block %s",
            self._chain.chain_id,
            number,
        )
        payout_events.go_back(self._chain, cursor, read, to, hashes)
        return to
