"""The node of the property test's world: a faulty provider behind the service's client."""

import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import urllib3
from urllib3.exceptions import ProtocolError, ReadTimeoutError

from tests.support.provider.responses import HttpFailure
from tests.support.provider.rules import Provider
from ticketing.chain.endpoint import Endpoint
from ticketing.chain.rpc import RpcClient

Fault = tuple[str, tuple[Any, ...], dict[str, Any]]
"""One fault: a method of Provider, and its arguments."""


class Reply(io.BytesIO):
    """A response of urllib3, as far as the service reads it."""

    def __init__(self, status: int, body: bytes, headers: Any) -> None:
        super().__init__(body)
        self.status, self.headers = status, headers


class Pool:
    """Replaces urllib3's pool: a provider answers, or the connection is cut."""

    def __init__(self, provider: Provider, passed: Callable[[], None]) -> None:
        self._provider = provider
        self._passed = passed
        self.is_cut = False

    def set(self, *, is_cut: bool, faults: Sequence[Fault]) -> None:
        """Cut or restore the connection. The provider gets these faults and no others."""
        self.is_cut = is_cut
        self._provider.well()
        for name, arguments, options in faults:
            getattr(self._provider, name)(*arguments, **options)

    def request(self, _method: str, url: str, *, body: str, **_: Any) -> Reply:
        """Answer one request."""
        self._passed()
        asked = json.loads(body)
        is_batch = isinstance(asked, list)
        answer = HttpFailure(None)
        if not self.is_cut:
            answer = self._provider.respond(asked if is_batch else [asked])
        if not isinstance(answer, HttpFailure):
            sent = answer[0] if isinstance(answer, list) and not is_batch else answer
            return Reply(200, json.dumps(sent).encode(), {})
        if answer.status is None:
            raise ReadTimeoutError(urllib3.HTTPConnectionPool("node"), url, "silence")
        if answer.is_cut_off:
            raise ProtocolError("cut off")
        return Reply(answer.status, answer.body, answer.headers)


class WorldClient(RpcClient):
    """RpcClient without the network: the current world answers."""

    pools: ClassVar[Mapping[int, Any]]

    def __init__(self, urls: Sequence[str], chain_id: int) -> None:
        super().__init__(urls, chain_id)
        self._endpoints = [Endpoint(url, self.pools[chain_id]) for url in urls]
