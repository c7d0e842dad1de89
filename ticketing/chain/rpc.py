"""JSON-RPC 2.0 over HTTP for Ethereum nodes: several endpoints of one chain, asked as one."""

import logging
from collections.abc import Sequence
from typing import Any

import urllib3

from ticketing.chain.endpoint import Call, Endpoint
from ticketing.chain.errors import RpcError, RpcRefused

log = logging.getLogger(__name__)
# It logs the URLs that it asks, and these hold keys.
logging.getLogger("urllib3").setLevel(logging.ERROR)

CHAIN_ID_CALL: Call = ("eth_chainId", [])


class RpcClient:
    """Asks the first of several endpoints that answers. Safe to share between threads."""

    def __init__(self, urls: Sequence[str], chain_id: int | None = None) -> None:
        """Ask these URLs. Of several, none is believed before it says that it is `chain_id`'s."""
        self._chain_id = chain_id if len(urls) > 1 else None
        pool = urllib3.PoolManager(maxsize=4, retries=False)
        self._endpoints = [Endpoint(url, pool) for url in urls]

    def batch(self, calls: Sequence[Call]) -> list[Any]:
        """Ask several questions; results come in the order of `calls`.

        The endpoints are tried in order; those that failed lately come last. RpcRefused if one of
        them answers with an error and none with results; else the error of the last one.
        """
        errors: list[RpcError] = []
        for endpoint in sorted(self._endpoints, key=lambda each: each.is_avoided):
            was_paused = endpoint.is_paused
            try:
                self._recognise(endpoint)
                return endpoint.ask(calls)
            except RpcError as error:
                errors.append(error)
                if len(self._endpoints) > 1 and not was_paused:
                    log.warning("node %s: %s", self._endpoints.index(endpoint) + 1, error)
        refused = [error for error in errors if isinstance(error, RpcRefused)]
        raise (refused or errors)[-1]

    def _recognise(self, endpoint: Endpoint) -> None:
        """Ask an endpoint for its chain once, and again after it failed."""
        if self._chain_id is None or endpoint.chain_id == self._chain_id:
            return
        if endpoint.ask([CHAIN_ID_CALL]) != [hex(self._chain_id)]:
            endpoint.avoid()
            raise RpcError("the node answers for another chain")
        endpoint.chain_id = self._chain_id
