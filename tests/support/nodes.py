"""Nodes for tests, each with a new chain.

To start anvil takes a third of a second, to reset it a few milliseconds. So a node is used again.
"""

import time

from ticketing.chain.node import connect
from ticketing.chain.receivers import PROXY
from tools.anvil import CHAIN_ID, Anvil, ensure_token

MOST_BLOCKS = 100
"""After so many blocks another node is started: a reset node keeps few states of new blocks."""


class Nodes:
    """The nodes of one process that runs tests: one at a time."""

    def __init__(self, chain_id: int = CHAIN_ID) -> None:
        self._chain_id = chain_id
        self._node: Anvil | None = None
        self._blocks = 0

    def take(self) -> Anvil:
        """Return a node with a new chain, the token and a funded buyer."""
        if self._node is None or not self._is_reset(self._node):
            self.stop()
            self._node, self._blocks = Anvil(chain_id=self._chain_id), 0
        connect.cache_clear()  # what the service found out about the chain before
        ensure_token(self._node.rpc)
        return self._node

    def stop(self) -> None:
        """Stop the node."""
        if self._node is not None:
            self._node.stop()
            self._node = None

    def _is_reset(self, node: Anvil) -> bool:
        """Begin a new chain. Return False if the node cannot, or has had too many blocks."""
        if not node.alive:
            return False
        try:
            self._blocks += int(node.rpc("eth_blockNumber"), 16)
            if self._blocks > MOST_BLOCKS:
                return False
            proxy = node.rpc("eth_getCode", PROXY, "latest")
            first = int(node.rpc("eth_getBlockByNumber", "0x0", False)["timestamp"], 16)
            # anvil also resets its clock to the first block's time.
            now = 0
            while now != int(time.time()):
                now = int(time.time())
                node.rpc("anvil_reset")
            node.rpc(
                "anvil_setCode", PROXY, proxy
            )  # only a new node has the proxy that deploys the factory
            node.rpc("evm_increaseTime", now - first)
            node.rpc("evm_setAutomine", True)
            node.rpc("anvil_removeBlockTimestampInterval")
        except RuntimeError:
            return False
        return True
