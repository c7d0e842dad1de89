"""A JSON-RPC 2.0 client for Ethereum nodes, with several endpoints of one chain."""

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import urllib3

from ticketing.chain.endpoint import Call, Endpoint
from ticketing.chain.errors import RpcError, RpcRefused

log = logging.getLogger(__name__)
# urllib3 logs the URLs of requests, and they contain keys.
logging.getLogger("urllib3").setLevel(logging.ERROR)

CHAIN_ID_CALL: Call = ("eth_chainId", [])


class _Ahead(threading.local):
    """Calls that a thread has asked ahead, with their results."""

    def __init__(self) -> None:
        self.results: list[tuple[Call, Any]] = []

    def find(self, calls: Sequence[Call]) -> list[Any] | None:
        """Return the results of all `calls`. None if one of them was not asked."""
        found = []
        for call in calls:
            of_call = [result for asked, result in self.results if asked == call]
            if not of_call:
                return None
            found += of_call
        return found


class RpcClient:
    """Uses the first endpoint that responds. Threads may share it."""

    def __init__(self, urls: Sequence[str], chain_id: int | None = None) -> None:
        """Use these URLs. If there are several, each must first report `chain_id`."""
        self._chain_id = chain_id if len(urls) > 1 else None
        pool = urllib3.PoolManager(maxsize=4, retries=False)
        self._endpoints = [Endpoint(url, pool) for url in urls]
        self._ahead = _Ahead()

    @contextmanager
    def asked_ahead(self, calls: Sequence[Call]) -> Iterator[None]:
        """Ask `calls` with one batch, and use their results for the batches in the block.

        So several readers share one request. A batch with another call is sent as usual. Other
        threads are not affected. RpcError: see `batch`.

        Example: [head, header 7, logs] are asked ahead. In the block, the batches [head] and
        [logs, header 7] need no request. [logs, header 8] is sent.
        """
        each_once = [call for place, call in enumerate(calls) if call not in calls[:place]]
        results = self.batch(each_once)
        self._ahead.results = list(zip(each_once, results, strict=True))
        try:
            yield
        finally:
            self._ahead.results = []

    def batch(self, calls: Sequence[Call]) -> list[Any]:
        """Return the results of `calls`, in their order.

        The endpoints are tried in order, those that failed recently last. If one lacks the header
        of a block, others may have it; else its results are returned. RpcRefused if one of them
        returns an error and none returns results, else the error of the last one.
        """
        if (known := self._ahead.find(calls)) is not None:
            return known
        errors: list[RpcError] = []
        incomplete: list[Any] | None = None
        for endpoint in sorted(self._endpoints, key=lambda each: each.is_avoided):
            was_paused = endpoint.is_paused
            try:
                self._recognise(endpoint)
                results = endpoint.ask(calls)
                if not _lacks_header(calls, results):
                    return results
                incomplete = incomplete or results
            except RpcError as error:
                errors.append(error)
                if len(self._endpoints) > 1 and not was_paused:
                    log.warning("node %s: %s", self._endpoints.index(endpoint) + 1, error)
        if incomplete is not None:
            return incomplete
        refused = [error for error in errors if isinstance(error, RpcRefused)]
        raise (refused or errors)[-1]

    @property
    def has_failed_url(self) -> bool:
        """Whether one of several endpoints failed recently, other than by refusing a call."""
        return len(self._endpoints) > 1 and any(each.is_avoided for each in self._endpoints)

    def _recognise(self, endpoint: Endpoint) -> None:
        """Check the chain id of an endpoint once, and again after a failure."""
        if self._chain_id is None or endpoint.chain_id == self._chain_id:
            return
        if endpoint.ask([CHAIN_ID_CALL]) != [hex(self._chain_id)]:
            endpoint.avoid()
            raise RpcError("the node serves another chain")
        endpoint.chain_id = self._chain_id


def _lacks_header(calls: Sequence[Call], results: Sequence[Any]) -> bool:
    asked = zip(calls, results, strict=True)
    return any(call[0] == "eth_getBlockByNumber" and result is None for call, result in asked)
