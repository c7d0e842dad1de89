"""Nodes for tests, each with a new chain.

To start anvil takes a third of a second, to reset it three milliseconds. So a node is used again.
"""

from tools.anvil import Anvil, ensure_token


class Nodes:
    """The nodes of one process that runs tests: one at a time."""

    def __init__(self) -> None:
        self._node: Anvil | None = None

    def take(self) -> Anvil:
        """Return a node with a new chain, the token and a funded buyer."""
        if self._node is None or not self._node.alive:
            self.stop()
            self._node = Anvil()
        ensure_token(self._node.rpc)
        return self._node

    def give_back(self) -> None:
        """Begin a new chain, or stop the node if it no longer responds."""
        if self._node is None or not self._node.alive:
            return
        try:
            self._node.rpc("anvil_reset")
            self._node.rpc("evm_setAutomine", True)
            self._node.rpc("anvil_removeBlockTimestampInterval")
        except RuntimeError:
            self.stop()

    def stop(self) -> None:
        """Stop the node."""
        if self._node is not None:
            self._node.stop()
            self._node = None
