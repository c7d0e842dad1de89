"""Read the events of lists, and book what was paid back.

Only blocks that are final are read, some ranges at each call. The last ones are read again, because
nodes may omit logs of new blocks.
"""

import logging
from collections.abc import Mapping, Sequence

from ticketing.chain.answers import Block
from ticketing.chain.block_headers import header_call
from ticketing.chain.endpoint import Call
from ticketing.chain.errors import ChainMoved, RpcError, RpcLimited, RpcRefused, RpcSilent
from ticketing.chain.node import Node, connect_each
from ticketing.chain.refunded_events import PaidRefund, Refunded
from ticketing.chain.registry import Chain
from ticketing.chain.request_size import RequestSize
from ticketing.chain.transfer_logs import BLOCKS_PER_RANGE
from ticketing.services import chains
from ticketing.services.payments import block_history, payout_events
from ticketing.services.payments.payout_ids import Place

RANGES_PER_PASS = 20
"""The most requests for logs of one call. After a long pause, further calls go on."""

log = logging.getLogger(__name__)


class _UrlMissing(Exception):
    """After a restored backup, a URL has not said what was paid."""


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
        except _UrlMissing as error:
            # Sales go on. Lists wait: this URL may be the only one that is honest.
            log.warning("chain %s: a backup was restored, and %s", self._chain.chain_id, error)
        finally:
            # A node that does not respond keeps nothing that is stored from being booked.
            payout_events.book_waiting(self._chain.chain_id)

    def calls(self, cursor: Block) -> list[Call]:
        """Return the calls of `run` with a cursor, if nothing has happened."""
        read, ids = self._unread(cursor)
        if read is None or cursor == self._done_at:
            return []
        first, last = self._first(read), self._last(cursor)
        end = min(first + self._width.now - 1, last)
        of_events = self._node.payouts.refunded_calls(cursor, ids, first, end)
        return [header_call(read.number), *of_events]

    def _unread(self, cursor: Block) -> tuple[Block | None, list[str] | None]:
        """Return up to where events were read, and with which ids now. No block: there are none."""
        read = payout_events.cursor(self._chain.chain_id)
        if read is None or self._last(cursor) < read.number:
            return None, []
        ids = payout_events.ids_to_read(self._chain.chain_id, read.time)
        return (None if ids == [] else read), ids

    def _first(self, read: Block) -> int:
        again = read.number + 1 - self._chain.confirmations
        return max(0, again, chains.read_from(self._chain.chain_id))

    def _last(self, cursor: Block) -> int:
        return cursor.number + 1 - self._chain.confirmations

    def _read(self, cursor: Block) -> bool:
        """Read some ranges. Return whether all was read that is final at the cursor."""
        chain_id = self._chain.chain_id
        unread, ids = self._unread(cursor)
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
            read = self._read_range(cursor, read, ids, first, last)
            first = max(first, read.number + 1)
        return first > last

    def _read_range(
        self, cursor: Block, read: Block, ids: Sequence[str] | None, first: int, last: int
    ) -> Block:
        """Read one range, as wide as the node accepts. Return the new cursor of events."""
        end = min(first + self._width.now - 1, last)
        try:
            block, found = self._node.payouts.refunded(cursor, ids, first, end)
        except (ChainMoved, RpcLimited, RpcSilent):
            raise
        except RpcError:
            self._width.failed(end - first + 1)
            if end == first:
                raise
            return read
        self._width.passed(end - first + 1)
        places = payout_events.places_of(self._chain.chain_id, {each.id for each, _ in found})
        paid = self._with_transfers(self._node, cursor, places, [each for each, _ in found])
        if ids is None:
            paid = self._and_of_other_urls(cursor, first, end, paid, places)
        payout_events.store(self._chain, cursor, read, block, paid, places)
        return block if block.number > read.number else read

    def _and_of_other_urls(
        self,
        cursor: Block,
        first: int,
        last: int,
        paid: Sequence[PaidRefund],
        places: dict[str, Place],
    ) -> list[PaidRefund]:
        """Return events in some blocks, with those of any URL, and add their accounts to `places`.

        Of two events of a payer with the same id, one is invented: nothing is read before they
        agree. _UrlMissing.
        """
        found = {(each.event.payer, each.event.id): each for each in paid}
        for number, url in enumerate(connect_each(self._chain), 1):
            if url is self._node:
                continue  # the only URL of the chain: it has just been asked
            try:
                _, events = url.payouts.refunded(cursor, None, first, last)
                places |= payout_events.places_of(
                    self._chain.chain_id, {each.id for each, _ in events}
                )
                more = self._with_transfers(url, cursor, places, [each for each, _ in events])
            except RpcError as error:
                raise _UrlMissing(f"URL {number} does not say what was paid: {error}") from None
            for each in more:
                if found.setdefault((each.event.payer, each.event.id), each) != each:
                    raise _UrlMissing(f"URL {number} says something else of {each.event.tx_hash}")
        return list(found.values())

    def _with_transfers(
        self, node: Node, cursor: Block, places: Mapping[str, Place], events: Sequence[Refunded]
    ) -> list[PaidRefund]:
        """Return the events of known ids, in the token of their account, with their transfers.

        The contract of another token is not asked: its logs could be anything, and must not keep
        the events of others from being read.
        """
        known = [
            each
            for each in events
            if each.id in places
            and each.token_address.lower() == places[each.id].token_address.lower()
        ]
        paid: dict[tuple[str, int], PaidRefund] = {}
        for tx_hash, token in sorted({(each.tx_hash, each.token_address) for each in known}):
            _, _, refunds = node.payouts.refunds_of(tx_hash, token, cursor)
            paid |= {(tx_hash, each.event.log_index): each for each in refunds}
        found = []
        for event in known:
            refund = paid.get((event.tx_hash, event.log_index))
            if refund is None or refund.event != event:
                # A node that lags or lies must not make a payment look as if nothing was paid.
                raise ChainMoved("the receipt of an event lacks the event")
            found.append(refund)
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
