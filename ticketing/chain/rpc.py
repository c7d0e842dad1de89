"""A JSON-RPC 2.0 client for Ethereum nodes, with several endpoints of one chain."""

import logging
from collections.abc import Sequence
from typing import Any

import urllib3

from ticketing.chain.endpoint import Call, Endpoint
from ticketing.chain.errors import RpcError, RpcRefused

log = logging.getLogger(__name__)
# urllib3 logs the URLs of requests, and they contain keys.
logging.getLogger("urllib3").setLevel(logging.ERROR)

CHAIN_ID_CALL: Call = ("eth_chainId", [])


class RpcClient:
    """Uses the first endpoint that responds. Threads may share it."""

    def __init__(self, urls: Sequence[str], chain_id: int | None = None) -> None:
        """Use these URLs. If there are several, each must first report `chain_id`."""
        self._chain_id = chain_id if len(urls) > 1 else None
        pool = urllib3.PoolManager(maxsize=4, retries=False)
        self._endpoints = [Endpoint(url, pool) for url in urls]

    def batch(self, calls: Sequence[Call]) -> list[Any]:
        """Return the results of `calls`, in their order.

        The endpoints are tried in order, those that failed recently last. If one lacks the header
        of a block, others may have it; else its results are returned. RpcRefused if one of them
        returns an error and none returns results, else the error of the last one.
        """
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
