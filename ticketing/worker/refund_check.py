"""Compare the block of each refund once more, when it is deep.

A refund is read while the organizer waits. If that node was on a fork that the worker never read,
no reorganization would ever take the refund back.
"""

import logging
from collections import defaultdict
from collections.abc import Sequence

from ticketing.chain.answers import Block
from ticketing.chain.errors import RpcRefused
from ticketing.chain.node import Node
from ticketing.chain.registry import Chain
from ticketing.models.refunds import Refund
from ticketing.services.payments import block_history, booking, payments

REFUNDS_PER_PASS = 32
"""How many refunds one pass compares, and so the most headers that it asks for."""

log = logging.getLogger(__name__)


class RefundCheck:
    """Compares the refunds of one chain, some at each call, the next ones at the next call."""

    def __init__(self, chain: Chain, node: Node) -> None:
        self._chain = chain
        self._node = node
        self._after = ""
        """The last refund of the pass before. Those that cannot be asked about delay no others."""

    def run(self, cursor: Block) -> None:
        """Compare some refunds that are final at the cursor. RpcError, CursorMoved.

        A refund whose block is not on the chain is taken back. One whose block no node has any more
        stays: the log says so.
        """
        due = payments.refunds_to_check(
            self._chain.chain_id, cursor.number, self._after, REFUNDS_PER_PASS
        )
        if due:
            self._compare(cursor, due)
        self._after = due[-1].id if len(due) == REFUNDS_PER_PASS else ""

    def _compare(self, cursor: Block, due: Sequence[Refund]) -> None:
        of_block: dict[int, list[Refund]] = defaultdict(list)
        for refund in due:
            of_block[int(refund.block_number or 0)].append(refund)
        found = self._blocks(cursor, sorted(of_block))
        hashes = {number: block.hash for number, block in found.items() if block is not None}
        checked: list[Refund] = []
        for number, refunds in of_block.items():
            if number not in hashes and not self._is_deleted(number, cursor):
                continue
            checked += refunds
            for refund in refunds:
                self._log(refund, number, hashes.get(number))
        booking.check_refunds(self._chain, cursor, checked, hashes)

    def _log(self, refund: Refund, number: int, block_hash: str | None) -> None:
        chain_id = self._chain.chain_id
        if block_hash is None:
            log.error(
                "chain %s: refund %s was not compared: no node has block %s any more. With a node"
                " that has it, `reconcile --chain` compares it",
                chain_id,
                refund.id,
                number,
            )
        elif block_hash != refund.block_hash:
            log.error(
                "chain %s: block %s is not the one of refund %s: the refund is taken back",
                chain_id,
                number,
                refund.id,
            )

    def _is_deleted(self, number: int, cursor: Block) -> bool:
        """Return whether nodes have deleted a missing block. One that lags has old blocks."""
        is_deep = number < cursor.number - block_history.RECENT
        return is_deep and not self._node.has_failed_url

    def _blocks(self, cursor: Block, numbers: Sequence[int]) -> dict[int, Block | None]:
        """Return what a node on the chain of the cursor has. None for blocks that it lacks."""
        try:
            return dict(zip(numbers, self._node.blocks_linked(cursor, numbers), strict=True))
        except RpcRefused:
            if len(numbers) > 1:
                # Some nodes refuse old headers. Find out which.
                return {each: self._blocks(cursor, [each])[each] for each in numbers}
            # The chain of the cursor is there, so the refusal is about the block.
            self._node.blocks_linked(cursor, [])
            return {numbers[0]: None}
