"""Responses of a provider that are not JSON-RPC answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ticketing.chain.endpoint import MAX_ANSWER_BYTES


@dataclass(frozen=True)
class HttpFailure:
    """An HTTP response without JSON-RPC answers. `status` None: nothing is ever sent.

    A Content-Length among the headers that is larger than the body: the connection ends early.
    """

    status: int | None
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_cut_off(self) -> bool:
        """Whether the connection ends before the body does."""
        return int(self.headers.get("Content-Length", len(self.body))) > len(self.body)


SILENCE = HttpFailure(None)
GATEWAY_TIMEOUT = HttpFailure(
    504, b"<html><body><h1>504 Gateway Time-out</h1></body></html>", {"Content-Type": "text/html"}
)
CUT_OFF = HttpFailure(200, b'[{"jsonrpc": "2.0", "id": 0, "resu', {"Content-Length": "1000000"})


def too_large() -> HttpFailure:
    """Return a body of more bytes than the service reads."""
    return HttpFailure(200, b"[" + b" " * MAX_ANSWER_BYTES + b"]")
