"""What can go wrong when a node is asked.

    RpcError                    the question has no answer that can be believed
    ├── RpcRefused              the node answered with a JSON-RPC error
    ├── RpcLimited              the node's rate limit is reached; it is left alone for a while
    ├── RpcSilent               the node does not answer; it is left alone for some seconds
    └── ChainMoved              the chain changed, or the node lags, while it was being read
        └── NotLinked           a block does not follow the block that was read before it

No message carries a node's URL: URLs hold keys.
"""


class RpcError(Exception):
    """The question has no answer that can be believed."""


class RpcRefused(RpcError):
    """The node understood the question and answered with an error."""


class RpcLimited(RpcError):
    """The node's rate limit is reached. It is not asked again for `retry_after` seconds."""

    def __init__(self, retry_after: float) -> None:
        super().__init__(f"the node's rate limit is reached; wait {retry_after:.0f} s")
        self.retry_after = retry_after


class RpcSilent(RpcError):
    """The node cannot be reached or does not answer in time."""


class ChainMoved(RpcError):
    """The chain changed, or the node lags behind another one, while it was being read."""


class NotLinked(ChainMoved):
    """A block does not follow the block that was read before it: the chain was reorganized."""
