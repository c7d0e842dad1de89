"""How much one request may ask for, as far as the node has shown."""

WIDER_AFTER = 8
"""After so many successful requests of the full size, the size is doubled."""


class RequestSize:
    """The size of requests that the node accepts. Failures halve it, successes double it.

    Example: a node refuses the logs of more than 500 blocks. 2000 fail, 1000 fail, 500 succeed.
    After 8 such ranges 1000 are tried again, and fail: 500.
    """

    def __init__(self, most: int) -> None:
        """Begin with `most`, and never go above it."""
        self.now = self._most = most
        self._passed = 0

    def passed(self, size: int) -> None:
        """Record that a request of this size succeeded. Smaller ones than `now` prove nothing."""
        if size < self.now:
            return
        self._passed += 1
        if self._passed >= WIDER_AFTER:
            self.now = min(2 * self.now, self._most)
            self._passed = 0

    def failed(self, size: int) -> None:
        """Record that a request of this size failed."""
        self.now = max(1, size // 2)
        self._passed = 0
