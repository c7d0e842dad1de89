"""Pays for orders from an unlocked account of anvil, many in one JSON-RPC batch."""

import heapq
import json
import time
from collections import Counter

from bench.onsale_loop import Ask, Pool, Script
from tools.anvil import BUYER, TOKEN_ADDRESS, transfer_data

STEP = "payments, a batch at anvil"
"""The step of the requests to anvil."""

_MOST = 50
_PAUSE_SECONDS = 0.25
_GAS = hex(100_000)
"""With it, the node estimates nothing."""


class Payer:
    """Sends the payments of all buyers, each at its time."""

    def __init__(self, port: int, nonce: int) -> None:
        """Pay through anvil's port. `nonce`: the number of the account's next transaction.

        Anvil carries out the calls of a batch at the same time. If it chose the numbers, two calls
        could get the same one.
        """
        self._nonce = nonce
        self._pool = Pool(port, most=1)
        self._due: list[tuple[float, str, int]] = []
        self.refused: Counter[str] = Counter()
        """How often anvil refused a payment, by its message."""
        self.is_done = False

    def pay(self, address: str, atomic_amount: int, at: float) -> None:
        """Plan a payment at a time of `time.perf_counter`."""
        heapq.heappush(self._due, (at, address, atomic_amount))

    def script(self) -> Script:
        """Send what is due until `is_done`."""
        while not self.is_done:
            yield _PAUSE_SECONDS
            while batch := self._batch():
                answer = yield Ask(STEP, batch, ("200",), self._pool)
                if answer is not None and answer.status == "200":
                    messages = [each.get("error") for each in json.loads(answer.body)]
                    self.refused.update(each["message"] for each in messages if each)

    def _batch(self) -> bytes:
        calls: list[dict[str, object]] = []
        while self._due and self._due[0][0] <= time.perf_counter() and len(calls) < _MOST:
            _, address, amount = heapq.heappop(self._due)
            data = transfer_data(address, amount)
            sent = {"from": BUYER, "to": TOKEN_ADDRESS, "data": data, "gas": _GAS}
            sent["nonce"] = hex(self._nonce)
            call = {"jsonrpc": "2.0", "id": self._nonce, "method": "eth_sendTransaction"}
            calls.append({**call, "params": [sent]})
            self._nonce += 1
        if not calls:
            return b""
        body = json.dumps(calls).encode()
        head = f"POST / HTTP/1.1\r\nHost: 127.0.0.1:{self._pool.port}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        return head.encode() + body
