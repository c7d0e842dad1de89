"""A small JSON client for the service, used by tools and tests."""

import json
from typing import Any

import urllib3


class Answer:
    """An HTTP response with its JSON body."""

    def __init__(self, status: int, headers: Any, body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.json: Any = json.loads(body) if body else None


class Client:
    """Sends JSON requests to one server, each on a connection of its own.

    A server may close an idle connection at the moment in which a request is sent on it.
    """

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url
        self._http = urllib3.PoolManager(retries=False, timeout=60)

    def send(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> Answer:
        """Send a request, with `body` as JSON, or as it is if it is bytes."""
        is_ready = body is None or isinstance(body, bytes)
        response = self._http.request(
            method,
            self._base_url + path,
            body=body if is_ready else json.dumps(body),
            headers={"Content-Type": "application/json", "Connection": "close", **(headers or {})},
        )
        return Answer(response.status, response.headers, response.data)
