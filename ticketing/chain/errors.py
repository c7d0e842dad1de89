"""The errors of a node client.

    RpcError                    the node has no valid response
    ├── RpcRefused              the node returned a JSON-RPC error
    ├── RpcInvalid              the node's response has a value that cannot be right
    ├── RpcLimited              the node's rate limit is reached: no requests for a while
    ├── RpcSilent               the node does not respond: no requests for some seconds
    └── ChainMoved              the chain changed, or the node lagged, during a read
        └── NotLinked           a block does not follow the block that was read before it

No message contains the URL of a node, because URLs contain keys.
"""


class RpcError(Exception):
    """The node has no valid response."""


class RpcRefused(RpcError):
    """The node returned a JSON-RPC error."""


class RpcInvalid(RpcError):
    """The node's response has a value that cannot be right, for example a log without a block."""


class RpcLimited(RpcError):
    """The node's rate limit is reached. It gets no requests for `retry_after` seconds."""

    def __init__(self, retry_after: float) -> None:
        super().__init__(f"the node's rate limit is reached; wait {retry_after:.0f} s")
        self.retry_after = retry_after


class RpcSilent(RpcError):
    """The node cannot be reached, or does not respond in time."""


class ChainMoved(RpcError):
    """The chain changed, or the node lagged behind another one, during a read."""


class NotLinked(ChainMoved):
    """A block does not follow the block that was read before: the chain was reorganized."""
