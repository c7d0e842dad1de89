"""A response that is complete without Flask."""

from collections.abc import Sequence
from typing import NamedTuple


class Ready(NamedTuple):
    """A response. `route` and `tenant` are for the log, not for the client.

    `headers` are all but those that every response has (request_log.headers).
    """

    status: str
    headers: Sequence[tuple[str, str]]
    body: bytes
    route: str
    tenant: str
